use super::*;

const FILES: [(&str, &[u8]); 8] = [
    ("png", include_bytes!("../../../../fixtures/images/box.png")),
    ("jpeg", include_bytes!("../../../../fixtures/images/box.jpeg")),
    ("jpeg", include_bytes!("../../../../fixtures/images/progressive.jpeg")),
    ("gif", include_bytes!("../../../../fixtures/images/box.gif")),
    ("gif", include_bytes!("../../../../fixtures/images/moving.gif")),
    ("webp", include_bytes!("../../../../fixtures/images/box.webp")),
    ("webp", include_bytes!("../../../../fixtures/images/lossless.webp")),
    ("webp", include_bytes!("../../../../fixtures/images/alpha.webp")),
];

#[test]
fn every_format() {
    for (name, bytes) in FILES {
        let image = Image::parse(bytes).unwrap();
        assert_eq!((image.format().as_str(), image.width(), image.height()), (name, 24, 16));
        assert_eq!(image.bytes(), bytes);
        assert_eq!(image.format().media_type(), format!("image/{name}"));
        assert_eq!(image.to_string(), format!("[image {name} 24x16 {}]", size_in_words(bytes.len() as u64)));
        assert_eq!(Image::from_base64(&image.base64()), Ok(image));
    }
    assert_eq!(Image::from_base64("no base64!"), Err(BadImage::NotAnImage));
}

#[test]
fn an_image_cut_off_anywhere_is_none() {
    for (name, bytes) in FILES {
        for end in 0..bytes.len() {
            let error = Image::parse(&bytes[..end]).expect_err(name);
            let known = matches!(signature(&bytes[..end]), Signature::Supported(_));
            assert_eq!(matches!(error, BadImage::Damaged(_)), known, "{name} cut at {end}: {error}");
        }
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

#[test]
fn no_bytes_make_it_panic_or_hang() {
    let mut dice = Dice(7);
    for round in 0..40_000 {
        let (_, whole) = FILES[round % FILES.len()];
        let mut bytes = whole.to_vec();
        for _ in 0..=dice.next(6) {
            let at = dice.next(bytes.len());
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff, dice.next(256) as u8][dice.next(6)];
        }
        bytes.truncate(1 + dice.next(bytes.len()));
        if let Ok(image) = Image::parse(bytes.clone()) {
            assert!(image.width() > 0 && image.height() > 0);
            assert_eq!(image.bytes(), bytes);
        }
    }
}

#[test]
fn what_is_no_image_for_models_is_named() {
    let check = |bytes: &[u8]| Image::parse(bytes).unwrap_err().to_string();
    let foreign = |name: &str| format!("is in the format {name}, which models do not take");
    assert_eq!(check(b""), "is empty");
    assert_eq!(check(b"text"), "is no image: only PNG, JPEG, GIF and WebP are");
    assert_eq!(check(b"BMW is a car"), "is no image: only PNG, JPEG, GIF and WebP are");
    assert_eq!(check(b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0"), foreign("BMP"));
    assert_eq!(check(b"II*\0\x08\0\0\0"), foreign("TIFF"));
    assert_eq!(check(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"), foreign("HEIC"));
    assert_eq!(check(b"\0\0\0\x20ftypavif"), foreign("AVIF"));
    assert_eq!(check(b"\0\0\0\x20ftypisom"), "is no image: only PNG, JPEG, GIF and WebP are");
    assert_eq!(check(b"\xef\xbb\xbf <?xml version=\"1.0\"?>\n<svg xmlns=\"x\"/>"), foreign("SVG"));
    assert_eq!(check(b"<?xml version=\"1.0\"?><page/>"), "is no image: only PNG, JPEG, GIF and WebP are");
    assert_eq!(check(b"\x89PNG\r\n\x1a\n"), "is a png image that is damaged or cut off");
    assert_eq!(check(b"RIFF\x24\0\0\0WAVEfmt "), "is no image: only PNG, JPEG, GIF and WebP are");
}

#[test]
fn sizes_in_words() {
    let got = [0, 67, 999, 1_000, 11_400, 999_999, 1_000_000, 3_932_160].map(size_in_words);
    assert_eq!(got, ["0 bytes", "67 bytes", "999 bytes", "1 kB", "12 kB", "1000 kB", "1.0 MB", "3.9 MB"]);
}

/// Documents go the way of images.
#[test]
fn pdf_documents() {
    let whole = Image::parse(&b"%PDF-1.4\n1 0 obj\nendobj\ntrailer\n%%EOF\n"[..]).unwrap();
    assert_eq!((whole.format(), whole.to_string().as_str()), (ImageFormat::Pdf, "[document pdf 38 bytes]"));
    assert_eq!(whole.format().media_type(), "application/pdf");
    assert_eq!(
        Image::parse(&b"%PDF-1.4\n1 0 obj\n"[..]).unwrap_err().to_string(),
        "is a pdf document that is damaged or cut off"
    );
    assert_eq!(Image::parse(&b"a %PDF-1.4"[..]), Err(BadImage::NotAnImage));
}
