import { Trans } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { useToday } from '../../shared/format/use-now.ts';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import type { When } from './when.ts';
import styles from './campaigns.module.css';

/** Days that are offered. */
const DAYS = 120;

/** A day of the coming months by its Jalali date, and a time of Tehran. */
export function WhenField({ value, onChange }: { value: When; onChange: (when: When) => void }) {
  const { fullDay } = useFormat();
  const today = useToday();
  const days = Array.from({ length: DAYS }, (_, at) => today + at);
  return (
    <div className={styles['pair']}>
      <SelectField
        label={<Trans>روز</Trans>}
        value={String(value.day)}
        choices={days.map((day) => ({ value: String(day), label: fullDay(day) }))}
        onChange={(day) => onChange({ ...value, day: Number(day) })}
      />
      <TextField
        label={<Trans>ساعت به وقت تهران</Trans>}
        type="time"
        dir="ltr"
        required
        value={value.time}
        onChange={(event) => onChange({ ...value, time: event.target.value })}
      />
    </div>
  );
}
