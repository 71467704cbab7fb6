#!/bin/sh
# parallel.sh 2/build1,4/build2: two tasks at a time on build1, four on build2.
parallel -S "$1" --workdir ... --transferfile task.sh --transferfile again.sh --transferfile task.md \
  --env ANTHROPIC_API_KEY --env ARTOO_DAILY_COST --return 'out/{#}' --cleanup --joblog jobs.log \
  sh again.sh sh task.sh {} 'out/{#}' :::: repos.txt
