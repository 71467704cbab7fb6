package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"artoo/tool/environ"
	"artoo/tool/names"
)

// secretWords mean a secret in any word that holds them, accents left out: passwords in languages of Latin letters first.
var secretWords = []string{
	"password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "contrasena", "contrasenya", "motdepasse", "senha", "wachtwoord",
	"haslo", "heslo", "jelszo", "salasana", "losenord", "adgangskode", "passord", "sifre", "katasandi", "matkhau", "lozink", "geslo", "slaptazod",
	"parola", "parool", "parole", "mnemonic", "mnemotechn", "geheimzahl", "geheimnis", "einmalcode", "bestatigungscode", "zugangsdaten", "credencial", "authenticator",
	"idrsa", "ided25519", "idecdsa", "iddsa", "kubeconfig", "keystore", "totp", "schlusselwort",
	"geheimnummer", "zugangscode", "phototan", "contrasenia",
}

// secretPhrases are words that mean a secret side by side, in lower case and without accents.
var secretPhrases = []string{
	"mot de passe", "palavra passe", "pass word", "pass code", "pass phrase", "pass key", "kata sandi", "mat khau", "codigo secreto", "code secret", "codice segreto",
	"codigo de verificacion", "codigo de verificacao", "codigo de seguridad", "codigo de seguranca", "code de verification", "code de securite", "codice di verifica",
	"codice di sicurezza", "code de confirmation", "codigo de acesso", "codigo de acceso", "code d acces", "dogrulama kodu", "clave de acceso", "clave secreta",
	"clave privada", "clave api", "clave de api", "tu clave", "su clave", "la clave", "chave de acesso", "chave privada", "chave secreta", "chave api", "chave de api", "cle privee", "cle secrete",
	"cle api", "cle d api", "cle d acces", "chiave privata", "chiave segreta", "chiave api", "privater schlussel", "privaten schlussel", "api schlussel", "geheimer schlussel",
	"zugangs schlussel", "seed phrase", "recovery phrase", "backup phrase", "secret phrase", "seed words", "recovery words", "verification code", "security code",
	"authentication code", "auth code", "login code", "access code", "confirmation code", "one time code", "sms code", "recovery code", "recovery codes", "backup code",
	"backup codes", "digit code", "two factor", "2 factor", "pin code", "pin number", "pin codigo", "your pin", "codigo pin", "code pin", "codice pin", "numero pin", "card number", "credit card",
	"social security", "login details", "log in details", "sign in details", "magic word", "unlock code", "device code",
	"security answer", "second factor", "2nd factor", "session id", "bank account number", "card details", "secret word", "memorable word", "mother s maiden",
}

// foreignWords mean a secret where they stand in a text; a space in them is any.
var foreignWords = []string{
	"парол", "секрет", "пин-код", "пин код", "пинкод", "код подтверждения", "код из смс", "кодовое слово", "одноразов", "закрытый ключ", "приватный ключ", "ключ доступа",
	"ключ api", "api-ключ", "таємн", "ключ доступу", "код підтвердження", "密码", "密碼", "口令", "验证码", "驗證碼", "校验码", "动态码", "令牌", "私钥", "私鑰", "密钥", "密鑰", "金鑰",
	"助记词", "助記詞", "凭证", "パスワード", "パスコード", "パスフレーズ", "暗証番号", "認証コード", "確認コード", "秘密鍵", "ワンタイム", "合言葉", "合い言葉", "비밀번호", "암호", "패스워드",
	"인증번호", "인증 번호", "인증코드", "인증 코드", "확인 코드", "보안 코드", "비밀 키", "비밀키", "개인 키", "개인키", "كلمة المرور", "كلمة السر", "كلمة مرور", "رمز التحقق", "الرقم السري", "رمز المرور",
	"رمز عبور", "گذرواژه", "סיסמה", "סיסמא", "סיסמת", "קוד אימות", "पासवर्ड", "পাসওয়ার্ড", "கடவுச்சொல்", "ओटीपी", "गुप्त", "รหัสผ่าน", "κωδικος προσβασης", "κωδικό", "κωδικός", "συνθηματικ", "գաղտնաբառ", "პაროლ",
}

// harmless are the words beside key, token, pass, pin and code with which they are no secret.
var harmless = map[string]string{
	"key": "primary foreign sort partition map cache config json object index translation i18n hot short issue project jira dictionary music musical answer lookup row " +
		"column tab arrow enter function shortcut public keyboard piano legend translation registry shape of points point figures in message metadata header hash range group",
	"token": "count limit budget usage window length size price kind type number max maximum per each amount cost costs id symbol stop separator padding",
	"pass":  "boarding ski day season bus mountain test tests the a all on through fail or to rate second first next",
	"pin": "the a an this that it to i we you gpio connector output input rolling bowling map drop version versions dependency dependencies message commit exact safety location " +
		"hair digital analog board",
	"code": "country area zip postal post error exit status product coupon promo discount currency language airport qr source bar color colour course dress region iata iso reason",
}

// asksSecret names the text of a form by which it asks for a credential: a form must not. It is as good as its words.
func (r Request) asksSecret() error {
	typed := func(f Field) bool { return f.Type == TextField || f.Type == NumberField || f.Type == IntegerField }
	if !slices.ContainsFunc(r.Fields, typed) {
		return nil // a yes or a choice gives nothing away
	}
	around := r.Message
	for _, f := range r.Fields {
		for _, c := range f.Choices {
			if strings.Count(strings.TrimSpace(c.Title), " ") > 1 { // more than the name of a choice
				around += "\n" + c.Title
			}
		}
		if !typed(f) {
			around += "\n" + f.Description
		}
	}
	if meansSecret(around) {
		return errors.New("its message looks like a request for a secret, which no form may make")
	}
	for _, f := range r.Fields {
		said, _ := f.Default.(string)
		named := strings.Join([]string{spaced(f.Name), f.Title, f.Description, said}, "\n")
		if typed(f) && (f.Format == "password" || meansSecret(named) || bare(f, around)) {
			return fmt.Errorf("%s looks like a secret, which no form may ask for", oneLine(f.Name))
		}
	}
	return nil
}

// bare reports whether a field is called only by a word such as key, or code where the form speaks of one that was sent.
func bare(f Field, around string) bool {
	own := strings.Fields(latin(spaced(f.Name) + " " + f.Title))
	described := strings.Fields(latin(strings.Join([]string{spaced(f.Name), f.Title, f.Description}, " ")))
	if len(own) == 0 {
		return false
	}
	for word, others := range harmless {
		if !slices.Contains(own, word) || slices.ContainsFunc(described, func(w string) bool { return slices.Contains(strings.Fields(others), w) }) {
			continue
		}
		sent := slices.ContainsFunc(append(described, strings.Fields(latin(around))...), func(w string) bool {
			return slices.Contains([]string{"sent", "sms", "phone", "texted", "mailed", "emailed", "digit", "digits", "login", "log", "sign", "signin", "verify", "account"}, w)
		})
		if word != "code" || sent {
			return true
		}
	}
	return false
}

// meansSecret reports whether a text speaks of a secret, in any of its guises.
func meansSecret(text string) bool {
	folded := strings.Join(strings.Fields(names.Fold(text)), " ")
	cyrillic := strings.NewReplacer(strings.Split("aаbвcсeеhнiіkкmмoоpрtтxхyу", "")...).Replace(folded) // Latin letters among others
	for _, guise := range []string{folded, joined(folded), cyrillic, joined(cyrillic)} {
		if slices.ContainsFunc(foreignWords, func(w string) bool { return strings.Contains(guise, names.Fold(w)) }) {
			return true
		}
	}
	squeezed := strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) {
			return -1
		}
		return r
	}, text) // pass*word
	if slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(latin(squeezed), w) }) {
		return true
	}
	for _, guise := range guises(text) {
		if wordsMeanSecret(strings.Fields(guise)) {
			return true
		}
	}
	return false
}

// wordsMeanSecret is about words of small Latin letters and digits.
func wordsMeanSecret(words []string) bool {
	text := " " + strings.Join(words, " ") + " "
	if slices.ContainsFunc(secretPhrases, func(p string) bool { return strings.Contains(text, " "+p+" ") }) {
		return true
	}
	for i, word := range words {
		before, after := "", ""
		if i > 0 {
			before = words[i-1]
		}
		if i+1 < len(words) {
			after = words[i+1]
		}
		plain := func(of string) bool {
			list := strings.Fields(harmless[of])
			return slices.Contains(list, before) || slices.Contains(list, after)
		}
		switch {
		case slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(word, w) }),
			slices.Contains([]string{"otp", "2fa", "mfa", "cvv", "cvv2", "cvc", "ssn", "secret", "secrets", "pwd", "pw", "psw", "passw", "puk", "mtan", "jeton", "tan"}, word):
			return true
		case word == "key":
			yours := slices.Contains(words, "your") || slices.Contains(words, "my") || slices.Contains(words, "paste")
			if yours && !plain("key") || slices.Contains(strings.Fields("api access private secret ssh gpg pgp encryption signing "+
				"master recovery license licence activation account auth session deploy service rsa ed25519 wallet webhook aws github "+
				"stripe my your x client security pass"), before) {
				return true
			}
		case word == "token":
			if !plain("token") {
				return true
			}
		case word == "pin":
			if !plain("pin") && (len(words) < 4 || slices.Contains([]string{"your", "enter", "card", "digit", "sim", "bank", "account", "my", "numeric", "login", "secret"}, before)) {
				return true
			}
		case word == "pass", word == "bypass":
		case environ.IsCredential(word):
			return true
		}
	}
	return false
}

// guises are a text in small Latin letters: as it is, with digits and signs read as letters, and with single letters joined.
func guises(text string) []string {
	const signs = "0o3e4a5s7t8b@a$s€e+t"
	read := func(one string) string {
		return latin(strings.NewReplacer(append(strings.Split(signs, ""), "1", one, "!", one, "|", one)...).Replace(names.Fold(text)))
	}
	plain := latin(text)
	return []string{plain, joined(plain), read("i"), read("l"), joined(read("i"))}
}

// joined puts single letters side by side together: s p a c e d.
func joined(text string) string {
	var b strings.Builder
	single := false
	for _, word := range strings.Fields(text) {
		one := utf8.RuneCountInString(word) == 1
		if !one || !single {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		single = one
	}
	return b.String()
}

// spaced puts spaces between the words of a name such as userToken.
func spaced(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		lower = unicode.IsLower(r)
	}
	return b.String()
}

// latin is a text in small Latin letters and digits, without accents, with letters that look like Latin ones as these. Spaces
// stand for all other signs.
func latin(text string) string {
	const alike = "аaвbеeѕsіiјjкkмmнhоoрpсcтtуyхxԁdԝwɡgɑaıiαaοoρpνvτtυuιiκkωwѵvһhԛqӏlօoոnւułløođdħhŧtßsʙbᴀaᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzցgքpєeзeѡwгrпnьbяr"
	likeness := map[rune]rune{}
	from := rune(0)
	for _, r := range alike {
		if from == 0 {
			from = r
		} else {
			likeness[from], from = r, 0
		}
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(names.Fold(text)) {
		if like, ok := likeness[r]; ok {
			r = like
		}
		switch {
		case r >= 0x1F150 && r <= 0x1F169: // letters in dark circles
			r += 'a' - 0x1F150
		case r >= 0x1F170 && r <= 0x1F189: // in dark squares
			r += 'a' - 0x1F170
		case r >= 0x1F1E6 && r <= 0x1F1FF: // of flags
			r += 'a' - 0x1F1E6
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
			continue
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
