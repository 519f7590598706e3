/** An account alone has three quarters of the room, two have three sevenths each. */
const PARTS_OF_FREE_ROOM = 3;

/**
 * True when an account may take so many more bytes: it may hold three times as many as are free
 * after that. So while less than three quarters are used nobody is refused, and there is always
 * room for another account, however many have their share.
 */
export function isWithinShare(
  bytes: number,
  { own, used, max }: { own: number; used: number; max: number },
): boolean {
  return own + bytes <= PARTS_OF_FREE_ROOM * (max - used - bytes);
}
