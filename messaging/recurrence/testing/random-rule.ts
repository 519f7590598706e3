import fc from 'fast-check';

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const MONTH_DAYS = [...Array(31).keys()].flatMap((day) => [day + 1, -day - 1]);

/** Numbers that matter: ends of months are likely. */
const monthDay = fc.oneof(
  fc.constantFrom(...MONTH_DAYS),
  fc.constantFrom(1, 29, 30, 31, -1, -29, -30, -31),
);

function list(values: fc.Arbitrary<string | number>): fc.Arbitrary<string> {
  return fc.uniqueArray(values, { minLength: 1, maxLength: 4 }).map((some) => some.join(','));
}

function weekday(largest: number): fc.Arbitrary<string> {
  const plain = fc.constantFrom(...WEEKDAYS);
  if (largest === 0) return plain;
  const ordinal = fc.integer({ min: -largest, max: largest }).filter((n) => n !== 0);
  return fc.oneof(
    plain,
    fc.tuple(ordinal, plain).map(([n, day]) => `${n}${day}`),
  );
}

const part = (name: string, value: fc.Arbitrary<string | number>) =>
  fc.option(
    value.map((text) => `${name}=${text}`),
    { nil: undefined },
  );

/** Text of a rule without COUNT and UNTIL that parseRule accepts. */
export const randomRule: fc.Arbitrary<string> = fc
  .record({
    frequency: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    hasMonth: fc.boolean(),
  })
  .chain(({ frequency, hasMonth }) => {
    const ofMonth = frequency === 'MONTHLY' || hasMonth;
    const largest = frequency === 'DAILY' || frequency === 'WEEKLY' ? 0 : ofMonth ? 5 : 53;
    const nothing = fc.constant(undefined);
    return fc.tuple(
      fc.constant(`FREQ=${frequency}`),
      fc.constantFrom(
        undefined,
        ...['PERSIAN', 'GREGORIAN'].flatMap((calendar) =>
          ['', ';SKIP=OMIT', ';SKIP=BACKWARD', ';SKIP=FORWARD'].map(
            (skip) => `RSCALE=${calendar}${skip}`,
          ),
        ),
      ),
      part('INTERVAL', fc.integer({ min: 1, max: 7 })),
      part('WKST', fc.constantFrom(...WEEKDAYS)),
      hasMonth
        ? list(fc.integer({ min: 1, max: 12 })).map((months) => `BYMONTH=${months}`)
        : nothing,
      frequency === 'WEEKLY' ? nothing : part('BYMONTHDAY', list(monthDay)),
      part('BYDAY', list(weekday(largest))),
    );
  })
  .map((parts) => parts.filter((one) => one !== undefined).join(';'));
