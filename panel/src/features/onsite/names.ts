import { useLingui } from '@lingui/react/macro';
import type {
  FieldType,
  Frequency,
  OnsiteKind,
  UrlOperator,
} from '../../../../events/channels/onsite/definition.ts';

export function useKindName(): (kind: OnsiteKind) => string {
  const { t } = useLingui();
  const names = { popup: t`پنجره`, banner: t`نوار`, survey: t`نظرسنجی`, form: t`فرم` };
  return (kind) => names[kind];
}

export function useFrequencyName(): (frequency: Frequency) => string {
  const { t } = useLingui();
  const names = { once: t`یک بار`, session: t`هر نشست یک بار`, always: t`هر بار` };
  return (frequency) => names[frequency];
}

export function useFieldTypeName(): (type: FieldType) => string {
  const { t } = useLingui();
  const names = { text: t`متن`, number: t`عدد`, choice: t`گزینه`, rating: t`امتیاز ۱ تا ۵` };
  return (type) => names[type];
}

export function useUrlOperatorName(): (operator: UrlOperator) => string {
  const { t } = useLingui();
  const names = {
    contains: t`در نشانی هست`,
    prefix: t`نشانی با آن آغاز می‌شود`,
    equals: t`نشانی همین است`,
  };
  return (operator) => names[operator];
}
