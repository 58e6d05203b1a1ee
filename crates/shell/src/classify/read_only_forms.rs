//! Programs that only look in the forms listed here, and write a file or run a program in others.
//!
//! What is left out on purpose: `sort -o`, `-T`, `--compress-program`; `rg --pre`, `--hostname-bin`, `-z`;
//! `fd -x`, `-X`, `-l`; `base64 -o`; `tree -o`, `-R`; `file -C`, `-z`, `-Z`, `-p`; `diff -l`; the second operand of
//! `uniq` and `xxd`, which is a file they write; `date -s` and an operand of digits, which set the clock.

use super::{
    CommandClass, ShellWord,
    option_table::{OptionStyle, OptionTable},
};

const SORT: OptionTable = OptionTable::careful(
    "bdfghiMnRrVcCmsuz",
    "kSt",
    "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
     human-numeric-sort numeric-sort random-sort random-source= reverse sort= version-sort batch-size= check debug \
     files0-from= key= merge field-separator= parallel= buffer-size= stable unique zero-terminated help version",
);

const RG: OptionTable = OptionTable::careful(
    "0aciFHhIlLnNopPqsSuUvVwx.",
    "ABCdefgjmMrtTE",
    "after-context= auto-hybrid-regex before-context= binary block-buffered byte-offset case-sensitive color= colors= \
     column context= context-separator= count count-matches crlf debug dfa-size-limit= encoding= engine= \
     field-context-separator= field-match-separator= file= files files-with-matches files-without-match \
     fixed-strings follow generate= glob= glob-case-insensitive heading hidden iglob= ignore-case ignore-file= \
     ignore-file-case-insensitive include-zero invert-match json line-buffered line-number line-regexp \
     max-columns= max-columns-preview max-count= max-depth= max-filesize= mmap multiline multiline-dotall \
     no-column no-config no-context-separator no-crlf no-encoding no-filename no-fixed-strings no-follow \
     no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global \
     no-ignore-messages no-ignore-parent no-ignore-vcs no-invert-match no-json no-line-number no-messages no-mmap \
     no-multiline no-pcre2 no-require-git no-stats no-text no-trim no-unicode null null-data one-file-system \
     only-matching passthru path-separator= pcre2 pcre2-version pretty quiet regex-size-limit= regexp= replace= \
     smart-case sort= sortr= stats stop-on-nonmatch text threads= trim type= type-add= type-clear= type-list \
     type-not= unicode unrestricted version vimgrep with-filename word-regexp help",
);

const FD: OptionTable = OptionTable::careful(
    "0aFgHhIiLpqsu1V",
    "cdeEjoSt",
    "absolute-path and= base-directory= batch-size= case-sensitive changed-before= changed-within= color= \
     exact-depth= exclude= extension= fixed-strings follow full-path glob hidden ignore-case ignore-file= \
     max-depth= max-results= min-depth= no-follow no-hidden no-ignore no-ignore-parent no-ignore-vcs no-require-git \
     one-file-system owner= path-separator= print0 prune quiet regex search-path= show-errors size= strip-cwd-prefix \
     threads= type= unrestricted help version",
);

const BASE64: OptionTable = OptionTable::careful(
    "dDih",
    "bw",
    "decode ignore-garbage wrap= break= help version",
);

/// Its letters with a value take the next word wherever they stand in a cluster.
const TREE: OptionTable = OptionTable::careful(
    "adflxpugsDFqNQhrtcUvnCAiJXSK",
    "",
    "dirsfirst filesfirst filelimit= matchdirs noreport prune inodes device du si gitignore gitfile= \
     ignore-case metafirst sort= timefmt= nolinks charset= fromfile help version",
);

const FILE: OptionTable = OptionTable::careful(
    "bEhiIkLNnrs0v",
    "efFmP",
    "apple brief debug exclude= exclude-quiet= extension files-from= keep-going dereference magic-file= mime mime-type \
     mime-encoding no-buffer no-dereference no-pad parameter= print0 raw separator= special-files help version",
);

const DIFF: OptionTable = OptionTable::careful(
    "qscenyTtiEZbwBaNurpdHv#",
    "CUFLWxXSID",
    "brief recursive new-file unidirectional-new-file unified context ed rcs normal side-by-side width= left-column \
     suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= \
     suppress-blank-empty exclude= exclude-from= starting-file= from-file= to-file= ignore-case ignore-tab-expansion \
     ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text \
     strip-trailing-cr minimal horizon-lines= speed-large-files color palette= report-identical-files no-dereference \
     ignore-file-name-case no-ignore-file-name-case ifdef= line-format= old-line-format= new-line-format= \
     unchanged-line-format= group-format= help version",
);

const UNIQ: OptionTable = OptionTable::careful(
    "cdDiuz#",
    "fsw",
    "count repeated all-repeated group ignore-case unique zero-terminated skip-fields= skip-chars= check-chars= \
     help version",
)
.read_by(OptionStyle::First);

const XXD: OptionTable = OptionTable::careful(
    "",
    "",
    "a autoskip b bits c= cols= C capitalize d decimal e E EBCDIC g= group= h help i include l= len= n= name= o= \
     offset= p ps plain postscript r revert R= s= seek= u uppercase v version",
)
.read_by(OptionStyle::Whole);

const DATE: OptionTable = OptionTable::careful(
    "uR",
    "",
    "utc universal rfc-email iso-8601 rfc-3339= help version",
)
.read_by(OptionStyle::First);

const UNKNOWN: CommandClass = CommandClass::Runs(
    "it has an option or an operand that is not known to only look: it may write or run",
);

/// Classifies a call of one of these programs; none for other programs.
pub(super) fn classify(name: &str, words: &[ShellWord]) -> Option<CommandClass> {
    let (form, most) = match name {
        "sort" => (SORT, usize::MAX),
        "rg" => (RG, usize::MAX),
        "fd" | "fdfind" => (FD, usize::MAX),
        "base32" | "base64" => (BASE64, 1),
        "tree" => {
            return Some(if is_tree(words) {
                CommandClass::Looks
            } else {
                UNKNOWN
            });
        }
        "file" => (FILE, usize::MAX),
        "diff" => (DIFF, usize::MAX),
        "uniq" => (UNIQ, 1),
        "xxd" => (XXD, 1),
        "date" => {
            return Some(if tells_date(words) {
                CommandClass::Looks
            } else {
                super::ACTS
            });
        }
        _ => return None,
    };
    let is_within = |operands: Vec<&ShellWord>| {
        most == usize::MAX
            || (operands.len() <= most
                && operands.iter().all(|operand| operand.literal().is_some()))
    };
    Some(if form.operands(words).is_some_and(is_within) {
        CommandClass::Looks
    } else {
        UNKNOWN
    })
}

/// `tree` takes a value for `-L`, `-P` and `-I` from the next word, and letters may follow them: `-Lo 2 FILE`.
fn is_tree(words: &[ShellWord]) -> bool {
    let is_alone = |word: &ShellWord| matches!(word.literal().as_deref(), Some("-L" | "-P" | "-I"));
    let mut rest: Vec<ShellWord> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.literal().as_deref() {
            Some("--") => break,
            _ if is_alone(word) => match words.next().and_then(ShellWord::literal) {
                Some(_) => {}
                None => return false,
            },
            _ => rest.push(word.clone()),
        }
    }
    TREE.operands(&rest).is_some()
}

/// `date` without an operand but a format; also `-Iseconds`, whose value is attached.
fn tells_date(words: &[ShellWord]) -> bool {
    let is_iso = |word: &ShellWord| {
        matches!(
            word.literal().as_deref(),
            Some("-I" | "-Iseconds" | "-Is" | "-Idate")
        )
    };
    let words: Vec<ShellWord> = words.iter().filter(|word| !is_iso(word)).cloned().collect();
    let is_format = |word: &&ShellWord| word.literal().is_some_and(|text| text.starts_with('+'));
    DATE.operands(&words)
        .is_some_and(|operands| operands.len() <= 1 && operands.iter().all(is_format))
}
