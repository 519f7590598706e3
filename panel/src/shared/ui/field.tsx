import { useId, type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes } from 'react';
import styles from './field.module.css';

interface FieldFacts {
  label: ReactNode;
  /** Says what to enter; read with the label. */
  hint?: ReactNode;
  /** What is wrong with the value; undefined: nothing. */
  error?: ReactNode;
  /** The label is for screen readers: what stands beside the field says it already. */
  isLabelHidden?: boolean;
}

interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

/** Label, hint and error of a control. */
export function Field({
  label,
  hint,
  error,
  isLabelHidden = false,
  control,
}: FieldFacts & { control: (props: ControlProps) => ReactNode }) {
  const id = useId();
  const described = [...(hint ? [`${id}-hint`] : []), ...(error ? [`${id}-error`] : [])];
  return (
    <div className={styles['field']}>
      <label className={isLabelHidden ? 'visually-hidden' : styles['label']} htmlFor={id}>
        {label}
      </label>
      {control({
        id,
        'aria-describedby': described.join(' ') || undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {hint ? (
        <p className={styles['hint']} id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
      {error ? (
        <p className={styles['error']} id={`${id}-error`}>
          {error}
        </p>
      ) : null}
    </div>
  );
}

type InputProps = FieldFacts & Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'className'>;

/** A field of text. `dir="ltr"` for addresses, names of events and keys. */
export function TextField({ label, hint, error, isLabelHidden, ...input }: InputProps) {
  const className = `${styles['control']} ${input.dir === 'ltr' ? styles['ltr'] : ''}`;
  return (
    <Field
      {...{ label, hint, error, isLabelHidden: isLabelHidden ?? false }}
      control={(props) => <input {...input} {...props} className={className} />}
    />
  );
}

export interface Choice<Value extends string> {
  value: Value;
  label: string;
}

type SelectProps<Value extends string> = FieldFacts &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id' | 'className' | 'onChange' | 'value'> & {
    choices: readonly Choice<Value>[];
    value: Value;
    onChange: (value: Value) => void;
  };

export function SelectField<Value extends string>({
  label,
  hint,
  error,
  isLabelHidden,
  choices,
  onChange,
  ...select
}: SelectProps<Value>) {
  return (
    <Field
      {...{ label, hint, error, isLabelHidden: isLabelHidden ?? false }}
      control={(props) => (
        <select
          {...select}
          {...props}
          className={`${styles['control']} ${styles['select']}`}
          onChange={(event) => {
            const chosen = choices.find(({ value }) => value === event.target.value);
            if (chosen) onChange(chosen.value);
          }}
        >
          {choices.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    />
  );
}

export function CheckField({
  label,
  isChecked,
  onChange,
}: {
  label: ReactNode;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}) {
  return (
    <label className={styles['check']}>
      <input
        type="checkbox"
        checked={isChecked}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

/** A field of several lines. */
export function TextArea({
  label,
  hint,
  rows,
  value,
  onChange,
}: Pick<FieldFacts, 'label' | 'hint'> & {
  rows: number;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Field
      {...{ label, hint }}
      control={(props) => (
        <textarea
          {...props}
          dir="auto"
          rows={rows}
          className={styles['control']}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    />
  );
}
