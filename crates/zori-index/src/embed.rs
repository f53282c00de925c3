//! The built-in embedder: words and their parts hashed into a vector. It needs no model and no network, and finds what is written alike:
//! other endings, compounds, slips of the pen.

/// What vectors of it are marked with. Vectors of different models are never compared.
pub(crate) const MODEL: &str = "hashed-1";
pub(crate) const DIMENSIONS: usize = 256;
/// How long the parts of words are.
const PART: usize = 3;
/// How much a part counts beside its word.
const PART_WEIGHT: f32 = 0.4;

/// A direction, as small numbers; its length is about 127.
pub(crate) type Vector = Vec<i8>;

/// Returns the vector of a text; `None` where it has no words.
pub(crate) fn embed(text: &str) -> Option<Vector> {
    let mut sums = [0f32; DIMENSIONS];
    for word in words(text) {
        add(&mut sums, word.as_bytes(), 1.0);
        let marked: Vec<char> = std::iter::once('^').chain(word.chars()).chain(['$']).collect();
        for part in marked.windows(PART) {
            let part: String = part.iter().collect();
            add(&mut sums, part.as_bytes(), PART_WEIGHT);
        }
    }
    // What is said often counts less each time.
    sums.iter_mut().for_each(|sum| *sum = sum.signum() * sum.abs().sqrt());
    let length = sums.iter().map(|sum| sum * sum).sum::<f32>().sqrt();
    (length > 0.0).then(|| sums.iter().map(|sum| (sum / length * 127.0).round() as i8).collect())
}

/// Returns how alike two directions are; larger is more.
pub(crate) fn likeness(a: &[i8], b: &[u8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b as i8)).sum()
}

/// Returns a model's vector as small numbers: the largest becomes 127, and the direction stays.
pub(crate) fn small(vector: &[f32]) -> Vector {
    let largest = vector.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 && largest.is_finite() { 127.0 / largest } else { 0.0 };
    vector.iter().map(|value| (value * scale).round() as i8).collect()
}

/// Returns the cosine of the angle between two directions; 0 where they have different lengths or one has none.
pub(crate) fn cosine(a: &[i8], b: &[i8]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    let (mut product, mut of_a, mut of_b) = (0i32, 0i32, 0i32);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (i32::from(*a), i32::from(*b));
        product += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    let lengths = f64::from(of_a).sqrt() * f64::from(of_b).sqrt();
    if lengths > 0.0 { f64::from(product) / lengths } else { 0.0 }
}

/// Returns a stored vector as small numbers.
pub(crate) fn stored(bytes: &[u8]) -> Vector {
    bytes.iter().map(|byte| *byte as i8).collect()
}

/// Returns a vector as it is stored.
pub(crate) fn bytes(vector: &[i8]) -> Vec<u8> {
    vector.iter().map(|value| *value as u8).collect()
}

/// Returns the words of a text in small letters.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let word = |word: &&str| !word.is_empty();
    text.split(|character: char| !character.is_alphanumeric()).filter(word).map(str::to_lowercase)
}

fn add(sums: &mut [f32; DIMENSIONS], bytes: &[u8], weight: f32) {
    // FNV-1a: the place by the low bits, the sign by a high one.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = hash ^ (hash >> 29);
    let sign = if (hash >> 40) & 1 == 0 { 1.0 } else { -1.0 };
    sums[hash as usize % DIMENSIONS] += sign * weight;
}
