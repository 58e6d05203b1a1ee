//! Programs that only look, with their options.
//!
//! None of them has an option that writes a file, runs a program or connects, in any implementation we know
//! (GNU, BSD, busybox); so a word that is known only when it runs may be any of their options. One that is
//! written out and not in the table is new to us, and the call then needs a rule.

use super::option_table::{ComputedWord, OptionTable};

/// Names, letters without a value, letters with a value, long options.
const TABLE: &str = "
arch nproc tty whoami groups|as||all ignore= silent quiet help version
basename|az|s|multiple suffix= zero help version
cat|AbeEnstTuvl||show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version
cksum b2sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum|bctwzrqp|aol|binary check tag text zero ignore-missing quiet status strict warn algorithm= length= untagged raw base64 debug help version
cmp|bhlsxz|in|print-bytes ignore-initial= verbose bytes= quiet silent help version
column|txeJLn|sconNHdETWRrip|table separator= output-separator= columns= output-width= table-name= table-columns= json fillrows table-columns-limit= table-right= table-truncate= table-wrap= table-hide= table-noheadings table-empty-lines keep-empty-lines help version
comm|123iz||check-order nocheck-order output-delimiter= total zero-terminated help version
cut|nszw|bcdf|bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated help version
df|aghHiklmnPTvY|Btx|all block-size= human-readable si inodes local no-sync output portability print-type sync total type= exclude-type= help version
dirname|z||zero help version
du|0aAbcDgHhklLmnPrsSx|BdtXI|all apparent-size block-size= bytes total dereference-args max-depth= files0-from= human-readable inodes count-links dereference no-dereference separate-dirs si summarize null threshold= time time-style= exclude-from= exclude= one-file-system help version
expand unexpand|ia#|t|initial all first-only tabs= help version
factor|h||exponents help version
false true|||help version
fmt|cstu#|wpg|crown-margin tagged-paragraph split-only uniform-spacing width= goal= prefix= help version
fold|bs#|w|bytes spaces width= characters help version
free|bkmgthlwvVL|sc|bytes kilo mega giga tera peta kibi mebi gibi tebi pebi human si lohi line total wide committed seconds= count= help version
getconf|a||
grep egrep fgrep|EFGPivwxyclLqsobHhnTUZzarRIuV#|efmABCdD|extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case invert-match word-regexp line-regexp count color colour files-without-match files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename label= line-number initial-tab unix-byte-offsets null null-data text binary-files= binary devices= directories= exclude= exclude-from= exclude-dir= include= recursive dereference-recursive line-buffered after-context= before-context= context= help version
head|qvz#|cn|bytes= lines= quiet silent verbose zero-terminated help version
hexdump|bcCdovxX|efnsL|one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex format= format-file= length= skip= no-squeezing color help version
id|aGgnruzpFPAcZ||context group groups name real user zero help version
join|iz|12aejotv|check-order nocheck-order header ignore-case zero-terminated help version
jq|CMSacehjnrRsV0|fL|arg= argjson= slurpfile= rawfile= args jsonargs color-output monochrome-output sort-keys ascii-output compact-output exit-status null-input raw-output raw-output0 join-output raw-input slurp stream stream-errors seq tab indent= from-file= unbuffered help version
ls|aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1eO%,@|ITw|all almost-all author escape block-size= ignore-backups color colour directory dired classify file-type format= full-time group-directories-first no-group human-readable si dereference-command-line dereference-command-line-symlink-to-dir hide= hyperlink indicator-style= inode ignore= kibibytes dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero help version
lsblk|aAbdDfiJlmnNpPrsStTvzMOhVy|eIoxE|all ascii bytes discard exclude= fs inverse json list merge perms noheadings output= output-all paths pairs raw scsi sort= topology tree zoned nodeps noempty help version
lscpu|abceJpyhVB|C|all online bytes caches offline json extended parse physical hex output-all help version
nl|p|bdfhilnsvw|body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= help version
numfmt|z|d|debug delimiter= field= format= from= from-unit= grouping header invalid= padding= round= suffix= to= to-unit= zero-terminated help version
od|abcdfhilosxvBDeFHILOXC|AjNStw|address-radix= endian= skip-bytes= read-bytes= strings format= output-duplicates width traditional help version
paste|sz|d|delimiters= serial zero-terminated help version
pgrep|acfilnovwxqLFV|dFgGPstuUr|delimiter= list-name list-full inverse lightweight group= full count newest oldest older= parent= session= terminal= euid= uid= exact pidfile= logpidfile ns= nslist= runstates= ignore-ancestors help version
pidof|cnqsxz|Sot|help version
printenv|0||null help version
ps|aAcdefFgGhHjlLmMnNoOrRsStTuUvVwxXyZ|CDkopqtuUGg|cols= columns= cumulative deselect forest format= Group= group= headers info lines= rows= no-headers no-heading pid= ppid= quick-pid= sid= sort= tty= User= user= width= help version context
pwd|LP||logical physical help version
readlink|femnqsvz||canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version
realpath|eEmLPqsz||canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks zero help version
rev|0hV||zero help version
seq|w.#|fst|equal-width format= separator= help version
sleep|||help version
stat|LFftxlnqrs|ct|dereference file-system cached= format= printf= terse help version
strings|afwoh|nteTUs#|all data print-file-name bytes= radix= target= encoding= include-all-whitespace output-separator= unicode= help version
tac|br|s|before regex separator= help version
tail|fFqrvz#|bcns|bytes= follow lines= pid= quiet silent retry sleep-interval= verbose zero-terminated max-unchanged-stats= help version
tr|cCdstu||complement delete squeeze-repeats truncate-set1 help version
tsort|dlqw||help version
uname|amnprsvioU||all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system help version
uptime|prsc||pretty since raw container help version
wc|clmLw||bytes chars lines words max-line-length files0-from= total= debug help version
which|asi||all skip-alias show-dot show-tilde tty-only help version
";

/// Programs that take every word as an operand.
const WORDS: [&str; 2] = ["echo", "expr"];

/// Whether a program only looks, whatever its operands.
pub(super) fn is_one(name: &str) -> bool {
    WORDS.contains(&name) || row(name).is_some()
}

/// Its options; none if every word is an operand.
pub(super) fn form(name: &str) -> Option<OptionTable> {
    let mut columns = row(name)?.split('|').skip(1);
    let mut next = || columns.next().unwrap_or_default();
    let (flags, valued, long) = (next(), next(), next());
    Some(OptionTable {
        computed: ComputedWord::Operand,
        ..OptionTable::careful(flags, valued, long)
    })
}

fn row(name: &str) -> Option<&'static str> {
    let is_named = |row: &&str| {
        row.split('|')
            .next()
            .is_some_and(|names| names.split_ascii_whitespace().any(|one| one == name))
    };
    TABLE.lines().find(is_named)
}
