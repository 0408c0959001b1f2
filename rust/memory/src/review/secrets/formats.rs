//! The public formats of keys and tokens, with their checksums where they have one.
//!
//! The rows follow what issuers document and what public scanners of secrets search for. A row of a new issuer needs nothing
//! else.

use hedgerow_engine::rule;

use super::fields::{LEAST_BITS, bits};

/// A class of bytes that tokens are made of.
type Alphabet = fn(u8) -> bool;

const DIGITS: Alphabet = |byte| byte.is_ascii_digit();
const HEX: Alphabet = |byte| byte.is_ascii_hexdigit();
const UPPER: Alphabet = |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit();
const BASE32: Alphabet = |byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7');
const BECH32: Alphabet = |byte| b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".contains(&byte);
const BASE62: Alphabet = |byte| byte.is_ascii_alphanumeric();
const URL64: Alphabet = |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
const BASE64: Alphabet = |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
const AZURE: Alphabet = |byte| URL64(byte) || matches!(byte, b'~' | b'.');
const PATH: Alphabet = |byte| URL64(byte) || byte == b'/';

/// The digits of base 62 in the checksums of GitHub and npm.
const DIGITS_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The characters of a checksum in base 62.
const CHECKSUM: usize = 6;
/// The most characters of a part without a fixed length. A longer part is no token, so that each part is read once.
const LONGEST: usize = 4096;
/// The fewest different characters of a token. Fewer are a placeholder, as in `ghp_xxxx`.
const FEWEST_DIFFERENT: usize = 5;

rule! {
    /// A text in the documented format of a token or key of an issuer, or of a card number, is a secret.
    pub(crate) static SECRET_FORMATS = "secret formats" { LEAST_BITS, FEWEST_DIFFERENT }
}

/// A part of a token after its literal.
enum Part {
    /// This text.
    Text(&'static str),
    /// Bytes of an alphabet, with their least and their greatest number.
    Run(Alphabet, usize, usize),
}
use Part::{Run, Text};

/// A condition on a token of the right form.
#[derive(Clone, Copy)]
enum Check {
    /// Enough different characters.
    Varied,
    /// As much entropy as a password, because other texts have this form too.
    Entropy,
    /// The last six characters are the CRC-32 of those before, in base 62.
    Crc62,
    /// The first part is the JSON of a header with an algorithm.
    Jwt,
    /// Not one of the keys that the documentation of AWS shows.
    Aws,
}

/// A format: literals, of which one begins each token, and the parts after it.
pub(super) struct Format {
    /// The kind of secret, with its issuer.
    pub kind: &'static str,
    /// The literals that tell the format from other texts.
    pub literals: &'static [&'static str],
    /// The alphabet of the bytes before the literal that belong to the token, with their least and their greatest number.
    before: Option<(Alphabet, usize, usize)>,
    parts: &'static [Part],
    check: Check,
}

const fn row(
    kind: &'static str,
    literals: &'static [&'static str],
    parts: &'static [Part],
    check: Check,
) -> Format {
    Format {
        kind,
        literals,
        before: None,
        parts,
        check,
    }
}

impl Format {
    const fn after(self, alphabet: Alphabet, least: usize, most: usize) -> Self {
        Self {
            before: Some((alphabet, least, most)),
            ..self
        }
    }

    /// Return the first and the last byte, excluded, of the token whose literal is at these bytes; None if it is none.
    pub(super) fn token_at(
        &self,
        text: &str,
        start: usize,
        literal_end: usize,
    ) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        let mut first = start;
        if let Some((alphabet, least, most)) = self.before {
            let own = bytes[..start].iter().rev().take(most + 1);
            let count = own.take_while(|byte| alphabet(**byte)).count();
            if !(least..=most).contains(&count) {
                return None;
            }
            first -= count;
        }
        // A token begins where a word begins.
        let is_inside = bytes[..first]
            .last()
            .is_some_and(|byte| URL64(*byte) || matches!(byte, b'+' | b'/'));
        if is_inside {
            return None;
        }
        let mut end = literal_end;
        for part in self.parts {
            match *part {
                Text(text) if bytes[end..].starts_with(text.as_bytes()) => end += text.len(),
                Run(alphabet, least, most) => {
                    let own = bytes[end..].iter().take(most + 1);
                    let count = own.take_while(|byte| alphabet(**byte)).count();
                    if !(least..=most).contains(&count) {
                        return None;
                    }
                    end += count;
                }
                Text(_) => return None,
            }
        }
        let is_longer = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        // The alphabets are ASCII, so that all of these are between characters.
        let (before, rest) = (&text[first..start], &text[literal_end..end]);
        let is_one = !is_longer
            && (is_varied(before) || is_varied(rest))
            && self.passes(&text[first..end], rest);
        is_one.then_some((first, end))
    }

    fn passes(&self, token: &str, rest: &str) -> bool {
        match self.check {
            Check::Varied => true,
            Check::Entropy => bits(rest) >= LEAST_BITS,
            Check::Crc62 => rest.len() != 30 + CHECKSUM || has_crc_62(rest),
            Check::Jwt => {
                let header = token.split('.').next().unwrap_or_default();
                decoded(header).is_some_and(|json| {
                    let header = serde_json::from_slice::<serde_json::Map<_, _>>(&json);
                    header.is_ok_and(|header| header.contains_key("alg"))
                })
            }
            Check::Aws => !rest.ends_with("EXAMPLE"),
        }
    }
}

/// The formats of one issuer after the other.
#[rustfmt::skip] // A row is a line.
pub(super) static FORMATS: &[Format] = &[
    row("AWS access key", &["AKIA", "ASIA", "ABIA", "ACCA"], &[Run(BASE32, 16, 16)], Check::Aws),
    row("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], &[Run(BASE62, 36, 255)], Check::Crc62),
    row("GitHub token", &["github_pat_"], &[Run(BASE62, 22, 22), Text("_"), Run(BASE62, 59, 59)], Check::Varied),
    row("GitLab token", &["glpat-", "gldt-", "glrt-", "glft-", "glsoat-", "glffct-", "glimt-", "glagent-", "gloas-", "glcbt-", "GR1348941"], &[Run(URL64, 20, 300)], Check::Entropy),
    row("GitLab token", &["glptt-"], &[Run(HEX, 40, 40)], Check::Varied),
    row("Slack token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-", "xapp-"], &[Run(URL64, 18, 255)], Check::Entropy),
    row("Slack webhook", &["hooks.slack.com/services/T", "hooks.slack.com/workflows/T", "hooks.slack.com/triggers/T"], &[Run(PATH, 30, 100)], Check::Entropy),
    row("Anthropic key", &["sk-ant-"], &[Run(URL64, 40, 255)], Check::Entropy),
    row("OpenAI key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], &[Run(URL64, 40, 300)], Check::Entropy),
    row("OpenRouter key", &["sk-or-v1-"], &[Run(HEX, 64, 64)], Check::Varied),
    // DeepSeek, LiteLLM, older keys of OpenAI and many compatible services.
    row("API key", &["sk-"], &[Run(BASE62, 20, 100)], Check::Entropy),
    row("Google API key", &["AIza"], &[Run(URL64, 35, 35)], Check::Varied),
    row("Google client secret", &["GOCSPX-"], &[Run(URL64, 28, 28)], Check::Varied),
    row("Google access token", &["ya29."], &[Run(URL64, 20, 2048)], Check::Entropy),
    row("Stripe key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], &[Run(BASE62, 16, 247)], Check::Entropy),
    row("webhook secret", &["whsec_"], &[Run(BASE64, 24, 100)], Check::Entropy),
    row("npm token", &["npm_"], &[Run(BASE62, 36, 36)], Check::Crc62),
    // After the prefix comes a macaroon, which begins with the host of the index that it is for.
    row("PyPI token", &["pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"], &[Run(URL64, 50, LONGEST)], Check::Varied),
    row("RubyGems token", &["rubygems_"], &[Run(HEX, 48, 48)], Check::Varied),
    row("NuGet key", &["oy2"], &[Run(BASE62, 43, 43)], Check::Entropy),
    row("Clojars token", &["CLOJARS_"], &[Run(BASE62, 60, 60)], Check::Varied),
    row("Docker token", &["dckr_pat_", "dckr_oat_"], &[Run(URL64, 27, 64)], Check::Entropy),
    row("Hugging Face token", &["hf_", "api_org_"], &[Run(BASE62, 34, 40)], Check::Varied),
    row("Replicate token", &["r8_"], &[Run(BASE62, 37, 37)], Check::Varied),
    row("Groq key", &["gsk_"], &[Run(BASE62, 52, 52)], Check::Varied),
    row("xAI key", &["xai-"], &[Run(BASE62, 80, 80)], Check::Varied),
    row("Perplexity key", &["pplx-"], &[Run(BASE62, 48, 56)], Check::Varied),
    row("SendGrid key", &["SG."], &[Run(URL64, 22, 22), Text("."), Run(URL64, 43, 43)], Check::Varied),
    row("Twilio key", &["SK"], &[Run(HEX, 32, 32)], Check::Varied),
    row("Mailgun key", &["key-"], &[Run(HEX, 32, 32)], Check::Varied),
    row("Mailchimp key", &["-us"], &[Run(DIGITS, 1, 2)], Check::Varied).after(HEX, 32, 32),
    row("Brevo key", &["xkeysib-"], &[Run(HEX, 64, 64), Text("-"), Run(BASE62, 16, 16)], Check::Varied),
    row("Telegram token", &[":AA"], &[Run(URL64, 33, 33)], Check::Varied).after(DIGITS, 8, 10),
    row("Discord webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], &[Run(DIGITS, 17, 20), Text("/"), Run(URL64, 60, 80)], Check::Varied),
    row("Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], &[Run(HEX, 32, 32)], Check::Varied),
    row("Square token", &["sq0atp-", "sq0csp-", "EAAA"], &[Run(URL64, 22, 64)], Check::Entropy),
    row("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], &[Run(HEX, 64, 64)], Check::Varied),
    row("Azure client secret", &["Q~"], &[Run(AZURE, 31, 34)], Check::Varied).after(AZURE, 4, 4),
    row("Azure storage key", &["AccountKey="], &[Run(BASE64, 86, 88)], Check::Varied),
    row("Azure access key", &["SharedAccessKey="], &[Run(BASE64, 43, 44)], Check::Varied),
    row("Alibaba Cloud key", &["LTAI"], &[Run(BASE62, 12, 20)], Check::Entropy),
    row("Databricks token", &["dapi"], &[Run(HEX, 32, 32)], Check::Varied),
    row("Vault token", &["hvs.", "hvb."], &[Run(URL64, 24, 300)], Check::Entropy),
    row("Terraform token", &[".atlasv1."], &[Run(URL64, 60, 70)], Check::Varied).after(BASE62, 14, 14),
    row("Pulumi token", &["pul-"], &[Run(HEX, 40, 40)], Check::Varied),
    row("Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], &[Run(PATH, 40, 60)], Check::Entropy),
    row("Tailscale key", &["tskey-"], &[Run(URL64, 20, 100)], Check::Entropy),
    row("Supabase token", &["sbp_"], &[Run(HEX, 40, 40)], Check::Varied),
    row("PlanetScale token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], &[Run(URL64, 32, 64)], Check::Varied),
    row("Grafana token", &["glsa_"], &[Run(BASE62, 32, 32), Text("_"), Run(HEX, 8, 8)], Check::Varied),
    row("Grafana token", &["glc_"], &[Run(BASE64, 32, 400)], Check::Entropy),
    row("Sentry token", &["sntryu_"], &[Run(HEX, 64, 64)], Check::Varied),
    row("Sentry token", &["sntrys_eyJ"], &[Run(BASE64, 20, 500), Text("_"), Run(BASE64, 43, 44)], Check::Varied),
    row("New Relic key", &["NRAK-"], &[Run(UPPER, 27, 27)], Check::Varied),
    row("Dynatrace token", &["dt0c01."], &[Run(UPPER, 24, 24), Text("."), Run(UPPER, 64, 64)], Check::Varied),
    row("Postman key", &["PMAK-"], &[Run(HEX, 24, 24), Text("-"), Run(HEX, 34, 34)], Check::Varied),
    row("Linear key", &["lin_api_"], &[Run(BASE62, 40, 40)], Check::Varied),
    row("Notion token", &["ntn_"], &[Run(BASE62, 40, 50)], Check::Varied),
    row("Notion token", &["secret_"], &[Run(BASE62, 43, 43)], Check::Varied),
    row("Atlassian token", &["ATATT3"], &[Run(|byte| URL64(byte) || byte == b'=', 100, 300)], Check::Varied),
    row("Airtable token", &["pat"], &[Run(BASE62, 14, 14), Text("."), Run(HEX, 64, 64)], Check::Varied),
    row("Figma token", &["figd_"], &[Run(URL64, 40, 60)], Check::Varied),
    row("JSON Web Token", &["eyJ"], &[Run(URL64, 10, LONGEST), Text(".eyJ"), Run(URL64, 10, LONGEST), Text("."), Run(URL64, 10, LONGEST)], Check::Jwt),
    row("age key", &["AGE-SECRET-KEY-1"], &[Run(BECH32, 58, 58)], Check::Varied),
];

/// The tokens of bots of Discord, which have no literal: the number of a user in base 64, a time and a signature.
pub(super) fn discord_tokens(text: &str) -> impl Iterator<Item = (usize, usize)> {
    const USER: std::ops::RangeInclusive<usize> = 24..=26;
    let bytes = text.as_bytes();
    text.match_indices('.').filter_map(move |(dot, _)| {
        let start = USER.filter_map(|length| dot.checked_sub(length));
        let mut start = start.filter(|start| {
            // The first two bits of every digit are the same.
            matches!(bytes[*start], b'M'..=b'O')
                && !start
                    .checked_sub(1)
                    .is_some_and(|before| URL64(bytes[before]))
        });
        let start = start.find(|start| bytes[*start..dot].iter().all(|byte| URL64(*byte)))?;
        let user = decoded(&text[start..dot])?;
        let time = dot + 1..dot + 7;
        let is_time = bytes
            .get(time.clone())
            .is_some_and(|time| time.iter().all(|byte| URL64(*byte)));
        if !user.iter().all(u8::is_ascii_digit) || !is_time || bytes.get(time.end) != Some(&b'.') {
            return None;
        }
        let signature = time.end + 1;
        let length = bytes[signature..]
            .iter()
            .take(39)
            .take_while(|byte| URL64(**byte))
            .count();
        (27..=38)
            .contains(&length)
            .then_some((start, signature + length))
    })
}

fn is_varied(text: &str) -> bool {
    let mut known = [false; 128];
    for byte in text.bytes().filter(u8::is_ascii_alphanumeric) {
        known[usize::from(byte)] = true;
    }
    known.iter().filter(|known| **known).count() >= FEWEST_DIFFERENT
}

fn has_crc_62(rest: &str) -> bool {
    let (random, checksum) = rest.split_at(rest.len() - CHECKSUM);
    let mut number = crc_32(random.as_bytes());
    let written = checksum.bytes().rev().all(|byte| {
        let digit = DIGITS_62[(number % 62) as usize];
        number /= 62;
        byte == digit
    });
    written && number == 0
}

/// The CRC-32 of IEEE 802.3.
fn crc_32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    !crc
}

/// The bytes of a text in base 64 with `-` and `_`; None if it has other characters.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut pending, mut width) = (0_u32, 0);
    for byte in text.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        pending = (pending << 6) | u32::from(digit);
        width += 6;
        if width >= 8 {
            width -= 8;
            // The pending bits are fewer than 14, so that these are a byte.
            bytes.extend(u8::try_from(pending >> width));
            pending &= (1 << width) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_issuers() {
        assert_eq!(crc_32(b"123456789"), 0xcbf4_3926);
        // The example in the announcement of the format.
        assert!(has_crc_62("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"));
        assert!(!has_crc_62("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18"));
    }

    #[test]
    fn base_64_is_read_in_the_alphabet_of_urls() {
        assert_eq!(
            decoded("eyJhbGciOiJub25lIn0").as_deref(),
            Some(&br#"{"alg":"none"}"#[..])
        );
        assert_eq!(decoded("-_").as_deref(), Some(&[0xfb][..]));
        assert_eq!(decoded("a+"), None);
    }

    #[test]
    fn each_literal_of_a_format_is_ascii_and_of_one_row() {
        let literals = FORMATS.iter().flat_map(|format| format.literals);
        let mut literals: Vec<&str> = literals.copied().collect();
        assert!(
            literals
                .iter()
                .all(|literal| literal.is_ascii() && literal.len() > 1)
        );
        literals.sort_unstable();
        assert!(literals.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
