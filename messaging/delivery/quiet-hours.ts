import { tehranOffset } from '../../events/tehran-time.ts';
import type { QuietHours } from '../settings/settings.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

/**
 * When the quiet hours that contain `now` end; undefined outside of them. Their first minute is
 * quiet, the minute of their end is not. Times: ms since the epoch.
 */
export function endOfQuietHours({ from, to }: QuietHours, now: number): number | undefined {
  const offset = tehranOffset(now);
  const inDay = (((now + offset) % DAY) + DAY) % DAY;
  const midnight = now - inDay;
  const [begins, ends] = [from * MINUTE, to * MINUTE];
  if (begins < ends) return inDay >= begins && inDay < ends ? midnight + ends : undefined;
  if (inDay >= begins) return midnight + DAY + ends;
  return inDay < ends ? midnight + ends : undefined;
}
