// What the SDK keeps in the storage: keys and beginnings of keys. The bundler puts the values where
// they are used.

/** An id of this visitor. */
export const ANONYMOUS = 'a';
/** What happened to the calls of a page. */
export const BOOKS = 'b';
/** The choice of the visitor. */
export const CONSENT = 'c';
/** An event that waits. */
export const EVENT = 'e';
/** A campaign that was shown. */
export const SHOWN = 'f';
/** Until when nothing is sent. */
export const HOLD = 'h';
/** Whose books they are: visitors that come and go do not begin them anew. */
export const CLIENT = 'i';
/** The last message whose link was followed. */
export const CLICKED = 'm';
/** A response to a campaign that waits. */
export const RESPONSE = 'o';
export const SESSION = 's';
/** The user of `identify`. */
export const USER = 'u';

/** Ends the key of a sum of the books. */
export const SUM = 's';
