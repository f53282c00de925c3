//! The tokens of an awk program. What a slash is depends on what stands before it: behind a value it divides, elsewhere
//! it begins a regular expression. Who takes one for the other can be made to miss a call of `system`.

/// A token; regular expressions and numbers only as far as they matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'p> {
    /// A name or keyword.
    Name(&'p str),
    Number,
    /// A string, without its quotes and backslashes.
    Text(String),
    Regex,
    /// An operator or a separator; a line end is one.
    Sign(&'p str),
}

/// Keywords after which a statement or an expression begins.
const KEYWORDS: &[&str] = &[
    "BEGIN",
    "END",
    "BEGINFILE",
    "ENDFILE",
    "function",
    "func",
    "if",
    "else",
    "while",
    "for",
    "do",
    "break",
    "continue",
    "next",
    "nextfile",
    "exit",
    "return",
    "delete",
    "in",
    "getline",
    "print",
    "printf",
    "switch",
    "case",
    "default",
];

/// Keywords whose brackets hold a condition: a statement follows them, not an operator.
const CONTROL: &[&str] = &["if", "while", "for", "switch"];

/// Signs, the longest first.
const SIGNS: &[&str] = &[
    "**=", "&&", "||", "|&", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=",
    "!~", ">>", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|",
    "?", ":", "~", "$", "=", "@", "\n",
];

/// Cuts a program into its tokens; `None` if it cannot be read with certainty.
pub(super) fn tokens(program: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    // For each open bracket, whether a keyword's condition is in it.
    let mut brackets: Vec<bool> = Vec::new();
    let mut closed_control = false;
    let mut rest = program;
    while let Some(c) = rest.chars().next() {
        let divides = !closed_control && ends_value(&tokens);
        match c {
            ' ' | '\t' | '\r' => rest = &rest[1..],
            '\\' => {
                rest = rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n"))?;
            }
            '#' => rest = rest.find('\n').map_or("", |at| &rest[at..]),
            '"' => {
                let (text, after) = string(&rest[1..])?;
                tokens.push(Token::Text(text));
                closed_control = false;
                rest = after;
            }
            // Some read a regular expression behind `length` without brackets, others a division.
            '/' if matches!(tokens.last(), Some(Token::Name("length"))) => return None,
            '/' if !divides => {
                rest = regex(&rest[1..])?;
                tokens.push(Token::Regex);
                closed_control = false;
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(Token::Name(&rest[..end]));
                closed_control = false;
                rest = &rest[end..];
            }
            c if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                tokens.push(Token::Number);
                closed_control = false;
                rest = &rest[end..];
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
                // Behind a value `/=` divides as well; elsewhere the branch above took it.
                closed_control = false;
                match *sign {
                    "(" => {
                        let control =
                            matches!(tokens.last(), Some(Token::Name(name)) if CONTROL.contains(name));
                        brackets.push(control);
                    }
                    ")" => closed_control = brackets.pop()?,
                    _ => {}
                }
                tokens.push(Token::Sign(sign));
                rest = &rest[sign.len()..];
            }
        }
    }
    Some(tokens)
}

/// Whether the tokens so far end in a value, so that a slash divides it.
fn ends_value(tokens: &[Token<'_>]) -> bool {
    match tokens {
        [.., Token::Name(name)] => !KEYWORDS.contains(name),
        [.., Token::Number | Token::Text(_) | Token::Regex] => true,
        [.., Token::Sign(")" | "]")] => true,
        // Behind a variable it counts up and the value stands; in front of one it is a sign like others.
        [.., before, Token::Sign("++" | "--")] => match before {
            Token::Name(name) => !KEYWORDS.contains(name),
            Token::Sign("]" | ")") => true,
            _ => false,
        },
        _ => false,
    }
}

fn string(rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((text, &rest[at + 1..])),
            '\\' => text.extend(chars.next().map(|(_, c)| c)),
            '\n' => return None,
            c => text.push(c),
        }
    }
    None
}

fn regex(rest: &str) -> Option<&str> {
    let mut chars = rest.char_indices();
    let mut bracket = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' => return None,
            '[' => bracket = true,
            ']' => bracket = false,
            // In brackets some versions end here and some do not.
            '/' if bracket => return None,
            '/' => return Some(&rest[at + 1..]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls_system(program: &str) -> Option<bool> {
        Some(tokens(program)?.contains(&Token::Name("system")))
    }

    #[test]
    fn a_slash_is_what_stands_before_it() {
        for program in [
            "BEGIN{x++ / 2; system(\"a\"); y=1/2}",
            "BEGIN{if(0)x=1; else /\"/; system(\"a\") #\"\n}",
            "BEGIN{a[1]++ /2; system(\"a\"); 1/1}",
            "BEGIN{do /\"/; while(0); system(\"a\") #\"\n}",
            "BEGIN{if (1) /\"/; system(\"a\") #\"\n}",
            "BEGIN{for(;;) /\"/; system(\"a\") #\"\n}",
            "BEGIN{x = y ++ /1; system(\"a\"); z=1/1}",
            "BEGIN{x = $1 / 2; system(\"a\") / 1}",
            "BEGIN{f(x) / 2; system(\"a\"); 1/1}",
        ] {
            assert_eq!(calls_system(program), Some(true), "{program}");
        }
        for program in ["{print $1 / 2}", "/system/ {print}", "{print \"system(1)\"}", "# system\n{print}"] {
            assert_eq!(calls_system(program), Some(false), "{program}");
        }
        for program in ["/[/]/", "{print \"}", "{print `x`}", "/x\n/"] {
            assert_eq!(calls_system(program), None, "{program}");
        }
    }
}
