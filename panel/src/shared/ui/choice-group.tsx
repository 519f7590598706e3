import { useId, type ReactNode } from 'react';
import type { Choice } from './field.tsx';
import styles from './choice-group.module.css';

/** One of few choices, all in sight. */
export function ChoiceGroup<Value extends string>({
  label,
  value,
  choices,
  onChange,
}: {
  label: ReactNode;
  value: Value;
  choices: readonly Choice<Value>[];
  onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset className={styles['group']}>
      <legend className={styles['legend']}>{label}</legend>
      <div className={styles['choices']}>
        {choices.map((choice) => (
          <label key={choice.value} className={styles['choice']}>
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              onChange={() => onChange(choice.value)}
            />
            <span>{choice.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
