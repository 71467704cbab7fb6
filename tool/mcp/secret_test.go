package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// form is a form with a message and one text field, whose title may be "".
func form(t *testing.T, message, name, title string) error {
	t.Helper()
	schema, err := json.Marshal(map[string]any{"type": "object",
		"properties": map[string]any{name: map[string]any{"type": "string", "title": title}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = request("s", &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)})
	return err
}

// A form may ask for a secret in its message, its title or its name, in many guises.
func TestAFormThatAsksForASecretIsDeclined(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"Enter your password", "PASSWORD:", "your pass word", "P-A-S-S-W-O-R-D", "p a s s w o r d", "p.a.s.s.w.d please", "pass\u200bword", "pa\u00adss\u034fword",
		"раѕѕwоrd", "ρassωord", "passwоrds of the database", "p4ssw0rd", "P@$$w0rd", "pa55word", "𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝", "ｐａｓｓｗｏｒｄ", "ⓟⓐⓢⓢⓦⓞⓡⓓ", "🅿🅰🆂🆂🆆🅾🆁🅳", "ᴘᴀꜱꜱᴡᴏʀᴅ", "p̷a̷s̷s̷w̷o̷r̷d̷", "pass*word*",
		"Your PIN", "Enter the 4-digit PIN", "PIN code of the card", "passcode", "OTP", "Type the one-time code", "the verification code from your phone", "2FA code", "6 digit code", "TOTP",
		"Passwort eingeben", "Kennwort?", "Ihr Einmalcode", "mot de passe", "Votre code secret", "contraseña", "Tu clave de acceso", "código de verificación", "senha do banco",
		"Palavra-passe", "parola d'ordine", "codice di sicurezza", "wachtwoord", "hasło", "heslo", "lösenord", "salasana", "şifre", "mật khẩu", "kata sandi", "пароль", "Введите ПИН-код", "код из смс", "密码",
		"请输入验证码", "密碼", "パスワード", "ﾊﾟｽﾜｰﾄﾞ", "暗証番号", "비밀번호", "كلمة المرور", "סיסמה", "पासवर्ड", "รหัสผ่าน", "κωδικός πρόσβασης",
		"paste id_ed25519", "the contents of ~/.ssh/id_rsa", "your private key", "API key", "apikey", "Paste your GitHub token", "bearer token", "client secret", "seed phrase", "your recovery codes",
		"пaроль", "пapoль", "п а р о л ь", "密 码", "비 밀 번 호", "PUK", "pw:", "unlock code", "security answer", "Zugangscode", "கடவுச்சொல்",
		"wallet mnemonic", "CVV", "credit card number", "login details", "session cookie", "credentials",
	} {
		if form(t, words, "value", "") == nil || form(t, "Please answer.", "value", words) == nil {
			t.Errorf("%q is delivered", words)
		}
	}
	for _, name := range []string{"password", "userPassword", "db_pass", "authToken", "apiKey", "pin", "otp", "key", "token", "pwd", "secret_word", "ｐａｓｓ"} {
		if form(t, "Please answer.", name, "") == nil {
			t.Errorf("the field %s is delivered", name)
		}
	}
	if form(t, "We sent you something.", "code", "") == nil {
		t.Error("a code that was sent is delivered")
	}
}

// A choice may be called by such a word, but not ask for what it means.
func TestAChoiceMayNameASecretButNotAskForIt(t *testing.T) {
	t.Parallel()
	for title, asks := range map[string]bool{"API key": false, "password": false, "enter your password": true} {
		r := Request{Message: "Which one?", Fields: []Field{{Name: "value", Type: TextField},
			{Name: "kind", Type: ChoiceField, Choices: []Choice{{Value: "a", Title: title}}}}}
		if err := r.asksSecret(); (err != nil) != asks {
			t.Errorf("%q: %v", title, err)
		}
	}
}

// A form whose words only look like those is delivered.
func TestAHarmlessFormIsDelivered(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"passenger name", "Which version should I pin?", "pin the version of the library", "token count", "maximum tokens per request", "key of the map", "bypass the cache?", "primary key column",
		"sort key", "compass direction", "boarding pass number", "country code", "zip code", "keyboard layout", "the author of the book", "hotkey to use", "monkey species", "secretary's name",
		"passage to quote", "pass the tests first?", "token budget", "opinion on the design", "spinner colour", "shipping address", "exit code to expect", "pint or litre", "foreign key table",
		"key points of the talk", "authority to cite", "Wie heißt das Ziel?", "Quel est le nom du projet ?", "palabras clave", "Название проекта", "项目名称", "プロジェクト名", "프로젝트 이름", "Which branch shall I compare with?",
		"public key algorithm", "commit message", "What time is it in Paris?", "How many digits of pi?", "assessment date",
	} {
		if err := form(t, words, "value", ""); err != nil {
			t.Errorf("message %q: %v", words, err)
		}
		if err := form(t, "Please answer.", "value", words); err != nil {
			t.Errorf("title %q: %v", words, err)
		}
	}
	for _, name := range []string{"name", "passenger_name", "token_count", "max_tokens", "primary_key", "version", "country_code", "keys", "author", "topic"} {
		if err := form(t, "Please answer.", name, ""); err != nil {
			t.Errorf("field %s: %v", name, err)
		}
	}
}
