// Byte offsets of texts: the protocol counts bytes of UTF-8, JavaScript counts units of UTF-16.

/**
 * Bytes that a text takes in UTF-8.
 * @param {string} text
 */
export function byteLength(text) {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    bytes += unitBytes(text.charCodeAt(at));
  }
  return bytes;
}

/**
 * The text from a byte on; empty if that is not the beginning of a character.
 * @param {string} text
 * @param {number} byte
 */
export function fromByte(text, byte) {
  let at = 0;
  let bytes = 0;
  while (bytes < byte && at < text.length) {
    bytes += unitBytes(text.charCodeAt(at));
    at += 1;
  }
  const isInside = at > 0 && isHigh(text.charCodeAt(at - 1));
  return bytes === byte && !isInside ? text.slice(at) : '';
}

/**
 * Bytes of one unit; each half of a pair counts two of its four.
 * @param {number} unit
 */
function unitBytes(unit) {
  if (unit < 0x80) {
    return 1;
  }
  return unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
}

/** @param {number} unit */
function isHigh(unit) {
  return unit >= 0xd800 && unit <= 0xdbff;
}
