package files

// Source is the text of the file at the absolute path, as Open may read it. The error
// says why there is none.
func (f *Files) Source(abs string) (string, error) {
	t, err := f.Resolve(abs, false)
	if err != nil {
		return "", err
	}
	return t.Source()
}

// Source is the text of a file.
func (t Place) Source() (string, error) {
	data, _, err := t.ReadFile(MaxEdit)
	if err != nil {
		return "", err
	}
	file, err := Decode(data)
	if err != nil {
		return "", t.Errorf(err, "")
	}
	return file.Body, nil
}
