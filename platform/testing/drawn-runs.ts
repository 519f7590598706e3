/**
 * Cases of a property whose cases take milliseconds: a third by default, all with `./ravand test
 * --full`.
 */
export const drawnRuns = (full: number): number =>
  process.env['RAVAND_TEST_FULL'] === '1' ? full : Math.ceil(full / 3);
