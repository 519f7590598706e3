/** The canonical definition of one segment, bytes of JSON. */
export const MAX_DEFINITION_BYTES = 128 * 1024;
/** A longer name is cut, as ingest cuts texts. */
export const MAX_NAME_BYTES = 512;

/** Segments of one account. */
export const MAX_SEGMENTS = 1000;
/** Definitions of all segments of an account, and of the segments in one list; bytes. */
export const MAX_ACCOUNT_BYTES = 8 * 2 ** 20;

/** The sentence for a segment beyond the limits of its account. */
export const tooManySegments = `segment: an account holds at most ${MAX_SEGMENTS} segments with ${MAX_ACCOUNT_BYTES} bytes of definitions; delete some first`;
