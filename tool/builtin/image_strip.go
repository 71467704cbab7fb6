package builtin

import (
	"bytes"
	"encoding/binary"
)

// stripped is the file with its image only, pixel for pixel: without EXIF,
// comments, thumbnails and further frames. nil means that this kind of file has
// to be written anew.
func stripped(data []byte, kind string) []byte {
	switch kind {
	case "image/png":
		return strippedPNG(data)
	case "image/jpeg":
		return strippedJPEG(data)
	}
	return nil
}

const pngHead = "\x89PNG\r\n\x1a\n"

// strippedPNG keeps the chunks that say how the image looks.
func strippedPNG(data []byte) []byte {
	rest, ok := bytes.CutPrefix(data, []byte(pngHead))
	if !ok {
		return nil
	}
	out := append(make([]byte, 0, len(data)), pngHead...)
	for len(rest) >= 12 {
		n := binary.BigEndian.Uint32(rest)
		if uint64(n)+12 > uint64(len(rest)) {
			return nil
		}
		chunk := rest[:n+12]
		rest = rest[n+12:]
		switch name := string(chunk[4:8]); name {
		case "IHDR", "PLTE", "IDAT", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "sBIT":
			out = append(out, chunk...)
		case "IEND":
			return append(out, chunk...)
		}
	}
	return nil
}

const (
	jpegEnd        = 0xd9
	jpegScan       = 0xda
	jpegApp0       = 0xe0
	jpegApp15      = 0xef
	jpegComment    = 0xfe
	jpegProfile    = 0xe2
	jpegAdobe      = 0xee // says what the colours are
	exifSegment    = 0xe1
	orientationTag = 0x0112
)

// strippedJPEG drops the segments that applications added, and what stands after
// the image's end.
func strippedJPEG(data []byte) []byte {
	out := append(make([]byte, 0, len(data)), data[:2]...)
	for s := (jpegScanner{data: data, at: 2}); ; {
		marker, segment, ok := s.next()
		switch {
		case !ok:
			return nil
		case marker == jpegEnd:
			return append(out, 0xff, jpegEnd)
		case marker == jpegComment,
			marker == jpegProfile && !bytes.HasPrefix(segment[4:], []byte("ICC_PROFILE\x00")),
			marker > jpegApp0 && marker <= jpegApp15 && marker != jpegProfile && marker != jpegAdobe:
		default:
			out = append(out, segment...)
		}
	}
}

// jpegScanner goes through the segments of a JPEG.
type jpegScanner struct {
	data []byte
	at   int
}

// next is the next segment with its marker and length; that of a scan has the
// pixels with it. ok is false at the end of the data.
func (s *jpegScanner) next() (marker byte, segment []byte, ok bool) {
	for s.at+1 < len(s.data) && s.data[s.at] == 0xff && s.data[s.at+1] == 0xff { // padding
		s.at++
	}
	if s.at+2 > len(s.data) || s.data[s.at] != 0xff {
		return 0, nil, false
	}
	if marker = s.data[s.at+1]; marker == jpegEnd {
		return marker, s.data[s.at : s.at+2], true
	}
	if s.at+4 > len(s.data) {
		return 0, nil, false
	}
	end := s.at + 2 + int(binary.BigEndian.Uint16(s.data[s.at+2:]))
	if end < s.at+4 || end > len(s.data) {
		return 0, nil, false
	}
	if marker == jpegScan {
		for ; ; end++ {
			if end+1 >= len(s.data) {
				return 0, nil, false
			}
			if next := s.data[end+1]; s.data[end] == 0xff && next != 0 && next != 0xff && (next < 0xd0 || next > 0xd7) {
				break // neither a byte of the pixels nor a restart mark
			}
		}
	}
	segment = s.data[s.at:end]
	s.at = end
	return marker, segment, true
}

// orientation is how EXIF says a photograph has to be turned, 1 for not at all.
func orientation(data []byte) int {
	for s := (jpegScanner{data: data, at: 2}); ; {
		marker, segment, ok := s.next()
		if !ok || marker == jpegScan || marker == jpegEnd {
			return 1
		}
		if marker != exifSegment {
			continue
		}
		if tiff, ok := bytes.CutPrefix(segment[4:], []byte("Exif\x00\x00")); ok {
			return tiffOrientation(tiff)
		}
	}
}

func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == orientationTag {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
			break
		}
		entries = entries[12:]
	}
	return 1
}

// webpChunks yields the chunks of a WebP with their heads and padding.
func webpChunks(data []byte, yield func(name string, chunk []byte) bool) {
	for len(data) >= 8 {
		n := uint64(binary.LittleEndian.Uint32(data[4:]))
		end := min(8+n+n%2, uint64(len(data)))
		if 8+n > uint64(len(data)) || !yield(string(data[:4]), data[:end]) {
			return
		}
		data = data[end:]
	}
}

func webpFile(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), bytes.Join(chunks, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// firstFrame makes a still image of an animated WebP; other data stays as it
// is.
func firstFrame(data []byte) []byte {
	if len(data) < 12 {
		return data
	}
	still := data
	webpChunks(data[12:], func(name string, chunk []byte) bool {
		const frameHead = 16 // where it stands, how long, how it is mixed
		if name != "ANMF" {
			return true
		}
		if len(chunk) < 8+frameHead {
			return false
		}
		head, frame := chunk[8:8+frameHead], chunk[8+frameHead:]
		// What an image of several chunks begins with: flags, and its size.
		extended := append(binary.LittleEndian.AppendUint32([]byte("VP8X"), 10), 0, 0, 0, 0)
		extended = append(extended, head[6:12]...)
		var chunks [][]byte
		webpChunks(frame, func(name string, chunk []byte) bool {
			switch name {
			case "ALPH":
				extended[8] |= 0x10
				chunks = append(chunks, chunk)
			case "VP8 ", "VP8L":
				chunks = append(chunks, chunk)
				return false
			}
			return true
		})
		still = webpFile(append([][]byte{extended}, chunks...)...)
		return false
	})
	return still
}
