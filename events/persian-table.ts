/** Actions of PERSIAN_ACTIONS. Every other value is the unit to write instead. */
export const KEEP = 0;
export const SPACE = 1;
export const DROP = 2;

const YEH = 0x06cc;
const KEHEH = 0x06a9;
const HEH = 0x0647;
const WAW = 0x0648;
const ALEF = 0x0627;

/** Inclusive ranges of UTF-16 units, all in the basic multilingual plane. */
type Ranges = readonly (readonly [first: number, last: number])[];

const WHITESPACE: Ranges = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0x85, 0x85],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/**
 * Diacritics (harakat, hamza and madda signs, superscript alef, Quranic signs and their
 * presentation forms), tatweel and zero-width joiner.
 */
const REMOVED: Ranges = [
  [0x0610, 0x061a],
  [0x0640, 0x0640],
  [0x064b, 0x065f],
  [0x0670, 0x0670],
  [0x06d6, 0x06dc],
  [0x06df, 0x06e4],
  [0x06e7, 0x06e8],
  [0x06ea, 0x06ed],
  [0x08d3, 0x08e1],
  [0x08e3, 0x08ff],
  [0x200d, 0x200d],
  [0xfc5e, 0xfc63],
  [0xfcf2, 0xfcf4],
  [0xfe70, 0xfe74],
  [0xfe76, 0xfe7f],
];

/**
 * Letters that are replaced by another letter, presentation forms included. Ligatures and
 * presentation forms of other letters are kept.
 */
const FOLDED: readonly (readonly [to: number, from: Ranges])[] = [
  // Arabic yeh, alef maksura, and the yehs of neighbouring languages: Kashmiri, with inverted v,
  // dots or digits, with tail, with small v, e, barree.
  [
    YEH,
    [
      [0x064a, 0x064a],
      [0x0649, 0x0649],
      [0x0620, 0x0620],
      [0x063d, 0x063f],
      [0x0775, 0x0777],
      [0x077a, 0x077b],
    ],
  ],
  [
    YEH,
    [
      [0x06cd, 0x06ce],
      [0x06d0, 0x06d3],
      [0xfbae, 0xfbb1],
      [0xfbe4, 0xfbe9],
      [0xfbfc, 0xfbff],
      [0xfeef, 0xfef4],
    ],
  ],
  // Arabic kaf, swash kaf, kaf with ring, dot or dots.
  [
    KEHEH,
    [
      [0x0643, 0x0643],
      [0x06aa, 0x06ae],
      [0xfb8e, 0xfb91],
      [0xfbd3, 0xfbd6],
      [0xfed9, 0xfedc],
    ],
  ],
  // Teh marbuta, heh with yeh above, heh goal with hamza, teh marbuta goal.
  [
    HEH,
    [
      [0x0629, 0x0629],
      [0x06c0, 0x06c0],
      [0x06c2, 0x06c3],
      [0xfba4, 0xfba5],
      [0xfe93, 0xfe94],
    ],
  ],
  [
    WAW,
    [
      [0x0624, 0x0624],
      [0x0676, 0x0676],
      [0xfe85, 0xfe86],
    ],
  ],
  [
    ALEF,
    [
      [0x0623, 0x0623],
      [0x0625, 0x0625],
      [0x0671, 0x0673],
      [0x0675, 0x0675],
      [0xfb50, 0xfb51],
      [0xfe83, 0xfe84],
      [0xfe87, 0xfe88],
    ],
  ],
];

function build(): Uint16Array {
  const actions = new Uint16Array(0x10000);
  const put = (ranges: Ranges, action: number) => {
    for (const [first, last] of ranges) actions.fill(action, first, last + 1);
  };
  put(WHITESPACE, SPACE);
  put(REMOVED, DROP);
  for (const [to, ranges] of FOLDED) put(ranges, to);
  return actions;
}

/** Per UTF-16 unit: KEEP, SPACE (part of a run that becomes one), DROP, or the replacement. */
export const PERSIAN_ACTIONS: Uint16Array = build();

/** True for whitespace: ASCII and Unicode spaces, next line, no-break space, byte-order mark. */
export function isWhitespaceUnit(unit: number): boolean {
  return PERSIAN_ACTIONS[unit] === SPACE;
}
