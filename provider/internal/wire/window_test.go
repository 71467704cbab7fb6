package wire

import "testing"

// TestTheNumbersOfAnOverflow: the window is the number that the server calls its maximum, whatever the order.
func TestTheNumbersOfAnOverflow(t *testing.T) {
	t.Parallel()
	for words, want := range map[string][2]int{
		"prompt is too long: 212230 tokens > 200000 maximum":                                                                                     {200000, 212230},
		"The model returned the following errors: prompt is too long: 212230 tokens > 200000 maximum":                                            {200000, 212230},
		"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.":                                {128000, 130000},
		"This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,000 tokens.":                              {128000, 130000},
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).": {4096, 5000},
		"This model's maximum context length is 32768 tokens and your request has 40000 input tokens":                                            {32768, 40000},
		"You passed 5000 input tokens and requested 1000 output tokens. However, the model's context length is only 4096 tokens":                 {4096, 5000},
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).":                                                {1048575, 1196265},
		"The input token count 1196265 exceeds the maximum number of tokens allowed 1048576.":                                                    {1048576, 1196265},
		"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it":                                              {4096, 4390},
		"the request exceeds the available context size, try increasing it":                                                                      {0, 0},
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length":                                                    {32768, 40000},
		"Input is too long for requested model.":                                                                                                 {0, 0},
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                                                   {131072, 537812},
		"Range of input length should be [1, 129024]":                                                                                            {129024, 0},
		"Your request exceeded model token limit: 262144 (requested: 300000)":                                                                    {262144, 300000},
	} {
		if win, req := windowNumbers(words); win != want[0] || req != want[1] {
			t.Errorf("%q: %d, %d, want %v", words, win, req, want)
		}
		if want[0] > 0 && !isOverflow(400, words) {
			t.Errorf("%q is no overflow", words)
		}
	}
}
