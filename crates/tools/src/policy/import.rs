//! Rules of other programs in our normal form, and a remark for each that cannot be taken over.
