//! Patterns of secrets: the literals they are found by, and what must be around those.
//!
//! A flat table. A literal is searched for as it is, so a word that comes in several cases is
//! there in each of them.

use std::ops::Range;

use super::{
    assignment, key_block, line_fields,
    token::TokenAlphabet::{self, Alnum, Dashed, Dotted, Hex, Upper, Url, Word},
    url_credentials,
};

/// One kind of secret.
pub(super) struct SecretPattern {
    /// What is left behind says this.
    pub(super) name: &'static str,
    /// Any of these begins it, or is in it.
    pub(super) literals: &'static [&'static str],
    /// What else must be so.
    pub(super) rule: PatternRule,
}

/// Finds the secret around a literal.
pub(super) type SecretFinder = fn(&str, Range<usize>) -> Option<Range<usize>>;

/// What must be so for a literal to be one of a secret.
pub(super) enum PatternRule {
    /// So many characters of an alphabet follow.
    Token(TokenAlphabet, Range<usize>),
    /// This finds it around the literal.
    Around(SecretFinder),
    /// The same over several words or lines. Says too whether more text could still belong to it.
    Spread {
        find: SecretFinder,
        is_open: fn(&str, Range<usize>) -> bool,
    },
}

const fn token(
    name: &'static str,
    literals: &'static [&'static str],
    alphabet: TokenAlphabet,
    length: Range<usize>,
) -> SecretPattern {
    SecretPattern {
        name,
        literals,
        rule: PatternRule::Token(alphabet, length),
    }
}

const fn around(
    name: &'static str,
    literals: &'static [&'static str],
    find: SecretFinder,
) -> SecretPattern {
    SecretPattern {
        name,
        literals,
        rule: PatternRule::Around(find),
    }
}

const fn assigned(name: &'static str, literals: &'static [&'static str]) -> SecretPattern {
    SecretPattern {
        name,
        literals,
        rule: PatternRule::Spread {
            find: assignment::find,
            is_open: assignment::is_open,
        },
    }
}

/// All of them. Where two begin alike, the more telling one stands first.
pub(super) const SHAPES: &[SecretPattern] = &[
    // Tokens and login links of our own server.
    token("rooftree token", &["rt_", "rl_"], Hex, 60..80),
    // Keys of models.
    token("anthropic key", &["sk-ant-"], Dashed, 20..256),
    token("openrouter key", &["sk-or-v1-"], Hex, 40..80),
    token(
        "openai key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
        Dashed,
        20..256,
    ),
    token("api key", &["sk-"], Dashed, 24..256),
    token("google api key", &["AIza"], Dashed, 35..40),
    token("groq key", &["gsk_"], Alnum, 40..60),
    token("xai key", &["xai-"], Alnum, 60..100),
    token("perplexity key", &["pplx-"], Alnum, 40..64),
    token("replicate token", &["r8_"], Alnum, 37..41),
    token("hugging face token", &["hf_", "api_org_"], Alnum, 30..40),
    token("fireworks key", &["fw_"], Alnum, 22..40),
    token("langsmith key", &["lsv2_pt_", "lsv2_sk_"], Word, 30..60),
    token("tavily key", &["tvly-"], Dashed, 24..60),
    // Clouds.
    token(
        "aws access key",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        Upper,
        16..17,
    ),
    around("azure client secret", &["8Q~", "7Q~"], key_block::azure),
    around(
        "azure key",
        &["AccountKey=", "SharedAccessKey=", "SharedSecretKey="],
        url_credentials::field,
    ),
    around(
        "azure signature",
        &["&sig=", "?sig=", ";sig="],
        url_credentials::field,
    ),
    token("google oauth token", &["ya29."], Dotted, 20..512),
    token("google oauth secret", &["GOCSPX-"], Dashed, 24..32),
    token("google refresh token", &["1//0"], Dashed, 40..200),
    token(
        "digitalocean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        Hex,
        60..70,
    ),
    token("databricks token", &["dapi"], Hex, 32..36),
    token("fly token", &["fo1_", "fm2_"], Url, 40..1024),
    token("heroku token", &["HRKU-"], Dashed, 36..70),
    token(
        "tailscale key",
        &["tskey-auth-", "tskey-api-", "tskey-client-"],
        Dashed,
        20..80,
    ),
    token("supabase key", &["sbp_", "sb_secret_"], Word, 30..64),
    token(
        "planetscale token",
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        Dotted,
        32..80,
    ),
    token("netlify token", &["nfp_"], Alnum, 36..50),
    token("vault token", &["hvs.", "hvb.", "hvr."], Dashed, 24..300),
    around("terraform token", &[".atlasv1."], key_block::terraform),
    token("pulumi token", &["pul-"], Hex, 40..41),
    token(
        "doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."],
        Dotted,
        40..80,
    ),
    token("dynatrace token", &["dt0c01."], Dotted, 80..120),
    token("age key", &["AGE-SECRET-KEY-1"], Upper, 50..64),
    // Code and packages.
    token(
        "github token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        Word,
        36..256,
    ),
    token("github token", &["github_pat_"], Word, 60..256),
    token(
        "gitlab token",
        &[
            "glpat-",
            "glptt-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glsoat-",
            "glft-",
            "GR1348941",
        ],
        Dotted,
        20..80,
    ),
    token("bitbucket token", &["ATBB", "ATCTT3xFf"], Alnum, 28..256),
    token("atlassian token", &["ATATT3xFf"], Url, 100..300),
    token("npm token", &["npm_"], Alnum, 36..40),
    token("pypi token", &["pypi-AgEI"], Dashed, 50..400),
    token("crates.io token", &["cio"], Alnum, 32..33),
    token("rubygems key", &["rubygems_"], Hex, 48..49),
    token("docker token", &["dckr_pat_", "dckr_oat_"], Dashed, 24..64),
    token("sourcegraph token", &["sgp_"], Word, 40..80),
    token("buildkite token", &["bkua_"], Hex, 40..41),
    token("circleci token", &["CCIPAT_", "CCIPRJ_"], Word, 40..90),
    token("sentry token", &["sntrys_", "sntryu_"], Url, 60..512),
    token("grafana token", &["glc_", "glsa_"], Url, 32..256),
    token("new relic key", &["NRAK-", "NRJS-"], Alnum, 19..44),
    token("postman key", &["PMAK-"], Dashed, 50..64),
    token("figma token", &["figd_"], Dashed, 36..60),
    token("linear key", &["lin_api_", "lin_oauth_"], Alnum, 36..70),
    token("notion token", &["secret_", "ntn_"], Alnum, 40..60),
    // Our own.
    token("rooftree call token", &["rtcall_"], Hex, 32..33),
    // Messages and mail.
    token(
        "slack token",
        &[
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xox", "xapp-",
        ],
        Dotted,
        20..256,
    ),
    around(
        "slack webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/"],
        url_credentials::hook,
    ),
    around(
        "discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        url_credentials::hook,
    ),
    around(
        "discord token",
        &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        key_block::discord,
    ),
    token("discord token", &["mfa."], Dashed, 60..100),
    around("telegram token", &[":AA"], key_block::telegram),
    token("twilio key", &["SK"], Hex, 32..33),
    token("sendgrid key", &["SG."], Dotted, 60..72),
    token("mailgun key", &["key-"], Hex, 32..33),
    around("mailchimp key", &["-us"], key_block::mailchimp),
    token("brevo key", &["xkeysib-", "xsmtpsib-"], Dashed, 60..100),
    // Money.
    token(
        "stripe key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        Url,
        20..256,
    ),
    token("square token", &["EAAA"], Dashed, 56..70),
    token("square token", &["sq0atp-", "sq0csp-"], Dashed, 22..60),
    token(
        "shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        Alnum,
        32..40,
    ),
    token("razorpay key", &["rzp_live_"], Alnum, 14..30),
    token(
        "shippo token",
        &["shippo_live_", "shippo_test_"],
        Hex,
        40..41,
    ),
    token("easypost key", &["EZAK", "EZTK"], Alnum, 54..60),
    // Shapes without an issuer.
    around("web token", &["eyJ"], key_block::web_token),
    SecretPattern {
        name: "private key",
        literals: &["-----BEGIN "],
        rule: PatternRule::Spread {
            find: key_block::armoured,
            is_open: key_block::is_open,
        },
    },
    around("private key", &["-----END "], key_block::armour_end),
    SecretPattern {
        name: "private key",
        literals: &["Private-Lines: "],
        rule: PatternRule::Spread {
            find: key_block::putty,
            is_open: key_block::is_putty_open,
        },
    },
    around("password", &["://"], url_credentials::password),
    SecretPattern {
        name: "credentials",
        literals: &["Bearer ", "bearer ", "BEARER ", "Basic ", "basic "],
        rule: PatternRule::Spread {
            find: url_credentials::bearer,
            is_open: url_credentials::is_open,
        },
    },
    SecretPattern {
        name: "password",
        literals: &["password ", "password\t", "password\n"],
        rule: PatternRule::Spread {
            find: line_fields::netrc,
            is_open: line_fields::is_open,
        },
    },
    SecretPattern {
        name: "token",
        literals: &["Cookie: ", "cookie: ", "COOKIE: "],
        rule: PatternRule::Spread {
            find: line_fields::cookie,
            is_open: line_fields::is_open,
        },
    },
    assigned(
        "password",
        &[
            "assword",
            "ASSWORD",
            "asswd",
            "ASSWD",
            "assphrase",
            "ASSPHRASE",
            "pwd",
            "PWD",
            "Pwd",
        ],
    ),
    assigned(
        "secret",
        &[
            "ecret",
            "ECRET",
            "redential",
            "REDENTIAL",
            "rivate_key",
            "rivateKey",
            "RIVATE_KEY",
            "rivate-key",
        ],
    ),
    assigned(
        "token",
        &["oken", "OKEN", "\"auth", "uthorization", "UTHORIZATION"],
    ),
    assigned(
        "key",
        &[
            "pi_key",
            "pi-key",
            "piKey",
            "pikey",
            "PI_KEY",
            "PIKEY",
            "pi-Key",
            "PI-KEY",
            "PI-Key",
            "ccess_key",
            "ccess-key",
            "ccessKey",
            "CCESS_KEY",
            "ncryption_key",
            "NCRYPTION_KEY",
            "igning_key",
            "IGNING_KEY",
        ],
    ),
];
