//! The built-in embedder: words and their parts hashed into a vector. It needs no model and no network, and finds what is written alike:
//! other endings, compounds, slips of the pen.

/// What vectors of it are marked with. Vectors of different models are never compared.
pub(crate) const MODEL: &str = "hashed-1";
const DIMENSIONS: usize = 256;
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
