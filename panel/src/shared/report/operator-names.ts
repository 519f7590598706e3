import { useLingui } from '@lingui/react/macro';
import type { Operator } from '../../../../audiences/conditions/condition.ts';

/** The names of operators as members read them. */
export function useOperatorNames(): Readonly<Record<Operator, string>> {
  const { t } = useLingui();
  return {
    eq: t`برابر است با`,
    neq: t`برابر نیست با`,
    in: t`یکی است از`,
    not_in: t`هیچ‌یک نیست از`,
    contains: t`دربردارندهٔ`,
    prefix: t`آغاز می‌شود با`,
    gt: t`بیشتر از`,
    gte: t`دست‌کم`,
    lt: t`کمتر از`,
    lte: t`حداکثر`,
    between: t`بین`,
    is_set: t`مقدار دارد`,
    is_not_set: t`مقدار ندارد`,
  };
}
