//! The secrets of one login: what proves that the answer is for us (state), and that the code is ours (PKCE, S256).

use sha2::{Digest, Sha256};
use zori_core::secret::{Secret, base64url};

/// A verifier and a state, 256 random bits each.
pub struct Pkce {
    /// Sent with the code, to the server alone.
    pub verifier: Secret,
    /// Sent through the browser, there and back.
    pub state: Secret,
}

impl Pkce {
    /// Makes the secrets of a login from random bytes, which must be used for no other one.
    pub fn new(verifier: [u8; 32], state: [u8; 32]) -> Self {
        let [verifier, state] = [verifier, state].map(|bytes| Secret::from(base64url(&bytes)));
        Self { verifier, state }
    }

    /// Returns what the server is shown of the verifier beforehand.
    pub fn challenge(&self) -> String {
        base64url(&Sha256::digest(self.verifier.reveal()))
    }
}

/// Compares in a time that does not tell where two texts differ (LS-1).
pub fn same(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into();
        let pkce = Pkce { verifier, state: "".into() };
        assert_eq!(pkce.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn each_holds_all_of_its_bits() {
        let pkce = Pkce::new([0; 32], [255; 32]);
        let expected = ("A".repeat(43), format!("{}8", "_".repeat(42)));
        assert_eq!((pkce.verifier.reveal(), pkce.state.reveal()), (&*expected.0, &*expected.1));
    }

    #[test]
    fn sameness() {
        assert!(same("abc", "abc") && same("", ""));
        assert!(!same("abc", "abd") && !same("abc", "ab") && !same("", "a"));
    }
}
