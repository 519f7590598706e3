import { ERROR, ProtocolError } from './frames.ts';

/**
 * The length in bits of the code of each byte (RFC 7541, appendix B). The code is canonical: among
 * codes of one length the order is that of the bytes, and shorter codes come first.
 */
const CODE_BITS = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  ...[6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  ...[5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  ...[13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  ...[7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  ...[6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  ...[20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  ...[24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  ...[22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  ...[21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  ...[26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  ...[19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  ...[20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  ...[26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
];
const END_OF_STRING_BITS = 30;
const END_OF_STRING = 256;

/**
 * A binary tree: node n has its children at 2n and 2n + 1. Positive: the index of a node; negative:
 * -1 - byte.
 */
function buildTree(): Int16Array {
  const symbols = [...CODE_BITS, END_OF_STRING_BITS]
    .map((bits, symbol) => ({ bits, symbol }))
    .sort((a, b) => a.bits - b.bits || a.symbol - b.symbol);
  const tree = new Int16Array(2 * symbols.length);
  let nodes = 1;
  let code = 0;
  let codeBits = 0;
  for (const { bits, symbol } of symbols) {
    code <<= bits - codeBits;
    codeBits = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const child = 2 * node + ((code >> bit) & 1);
      if (tree[child] === 0) tree[child] = nodes++;
      node = tree[child] ?? 0;
    }
    tree[2 * node + (code & 1)] = -1 - symbol;
    code++;
  }
  return tree;
}

const TREE = buildTree();
/** Padding is shorter than a byte and all ones. */
const MAX_PADDING_BITS = 7;

/** Decodes a string of a header block, as Latin-1. Throws ProtocolError. */
export function decodeHuffman(bytes: Buffer): string {
  let text = '';
  let node = 0;
  let unfinishedBits = 0;
  let isAllOnes = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >> bit) & 1;
      const next = TREE[2 * node + one] ?? 0;
      if (next > 0) {
        node = next;
        unfinishedBits++;
        isAllOnes &&= one === 1;
        continue;
      }
      const symbol = -1 - next;
      if (symbol === END_OF_STRING) throw invalid();
      text += String.fromCharCode(symbol);
      node = 0;
      unfinishedBits = 0;
      isAllOnes = true;
    }
  }
  if (unfinishedBits > MAX_PADDING_BITS || !isAllOnes) throw invalid();
  return text;
}

function invalid(): ProtocolError {
  return new ProtocolError(ERROR.compression, 'a header is not valid Huffman code');
}
