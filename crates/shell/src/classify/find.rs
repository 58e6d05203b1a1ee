//! `find`: looking, as long as all of its expression is known to only look.

use super::{
    CommandClass, ShellCall, ShellWord,
    option_table::{OptionStyle, OptionTable},
};

/// What `find` does with what it finds, and what it reads its starting points from.
const ACTIONS: [&str; 10] = [
    "-delete",
    "-exec",
    "-execdir",
    "-files0-from",
    "-fls",
    "-fprint",
    "-fprint0",
    "-fprintf",
    "-ok",
    "-okdir",
];

/// Tests and actions that only look; a `=` marks those that take the next word.
const KNOWN: OptionTable = OptionTable::careful(
    "",
    "",
    "H L P depth d mount xdev x noleaf daystart follow ignore_readdir_race noignore_readdir_race warn nowarn \
     empty executable readable writable nouser nogroup true false print print0 ls prune quit not and or a o \
     maxdepth= mindepth= name= iname= path= ipath= wholename= iwholename= regex= iregex= regextype= lname= \
     ilname= type= xtype= size= mtime= mmin= atime= amin= ctime= cmin= newer= anewer= cnewer= newermt= newerat= \
     newerct= newermm= newerma= newermc= perm= user= group= uid= gid= inum= links= samefile= fstype= used= \
     printf= context= help version",
)
.read_by(OptionStyle::Expression);

pub(super) fn classify(call: &ShellCall) -> CommandClass {
    let words = call.arguments();
    let acts = |word: &ShellWord| match word.literal() {
        // After `--` an expression is still one.
        Some(text) => text == "--" || ACTIONS.contains(&text.as_str()),
        None => word.may_be_option(),
    };
    if words.iter().any(acts) || KNOWN.operands(words).is_none() {
        return CommandClass::Runs("it acts on what it finds, or may");
    }
    CommandClass::Looks
}
