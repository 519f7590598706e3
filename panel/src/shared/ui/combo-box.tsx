import { useLingui } from '@lingui/react/macro';
import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Field } from './field.tsx';
import fieldStyles from './field.module.css';
import styles from './combo-box.module.css';

export interface Suggestion {
  value: string;
  /** Beside the value: its frequency. */
  note?: string;
}

interface Props {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  isLabelHidden?: boolean;
  value: string;
  suggestions: readonly Suggestion[];
  placeholder?: string;
  onChange: (value: string) => void;
}

const SHOWN = 50;

/**
 * A field of text that completes while one types (ARIA 1.2 combobox with a list). Other values than
 * the suggested ones are possible: an event may not have been sent yet. What was typed counts once
 * it is chosen, or the field is left.
 */
export function ComboBox({ value, suggestions, placeholder, onChange, ...field }: Props) {
  const { t } = useLingui();
  const [isOpen, setOpen] = useState(false);
  const [draft, setDraft] = useState({ of: value, text: value });
  // The value was changed elsewhere: what was typed is about another one.
  if (draft.of !== value) setDraft({ of: value, text: value });
  const { text } = draft;
  const [active, setActive] = useState(-1);
  /** Typed since the list opened: before, the list shows everything. */
  const [isTyped, setTyped] = useState(false);
  const listId = useId();
  const list = useRef<HTMLUListElement>(null);
  const shown = isOpen ? matching(suggestions, isTyped ? text : '').slice(0, SHOWN) : [];
  const isShown = isOpen && shown.length > 0;
  const open = () => {
    setOpen(true);
    setTyped(false);
    setActive(-1);
  };
  const choose = (chosen: string) => {
    setDraft({ of: value, text: chosen });
    if (chosen !== value) onChange(chosen);
    setOpen(false);
  };
  const move = (to: number) => {
    const next = (to + shown.length) % Math.max(1, shown.length);
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = shown[active];
    if (event.key === 'Escape' && isShown) {
      // A dialog around it stays open.
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose((isShown ? chosen?.value : undefined) ?? text.trim());
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) open();
      else move(active + (event.key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1));
    }
  };
  return (
    <Field
      {...field}
      control={(props) => (
        <div className={styles['box']}>
          <input
            {...props}
            className={`${fieldStyles['control']} ${styles['input']}`}
            dir="auto"
            role="combobox"
            autoComplete="off"
            spellCheck={false}
            aria-autocomplete="list"
            aria-expanded={isShown}
            aria-controls={isShown ? listId : undefined}
            aria-activedescendant={isShown && active >= 0 ? `${listId}-${active}` : undefined}
            value={text}
            placeholder={placeholder}
            onFocus={open}
            onClick={() => {
              if (!isOpen) open();
            }}
            onBlur={() => choose(text.trim())}
            onKeyDown={onKeyDown}
            onChange={(event) => {
              setDraft({ of: value, text: event.target.value });
              setOpen(true);
              setTyped(true);
              setActive(-1);
            }}
          />
          {isShown ? (
            <ul
              ref={list}
              id={listId}
              role="listbox"
              aria-label={t`پیشنهادها`}
              className={styles['list']}
            >
              {shown.map(({ value: offered, note }, at) => (
                <li
                  key={offered}
                  id={`${listId}-${at}`}
                  role="option"
                  aria-selected={at === active}
                  className={styles['option']}
                  // The field keeps the focus.
                  onPointerDown={(event) => event.preventDefault()}
                  onClick={() => choose(offered)}
                >
                  <bdi className={styles['value']}>{offered}</bdi>
                  {note ? <span className={styles['note']}>{note}</span> : null}
                </li>
              ))}
            </ul>
          ) : null}
        </div>
      )}
    />
  );
}

/** Suggestions that contain the text, those that begin with it first. */
function matching(suggestions: readonly Suggestion[], text: string): readonly Suggestion[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return suggestions;
  const found = suggestions.filter(({ value }) => value.toLowerCase().includes(wanted));
  return found.toSorted(
    (a, b) =>
      Number(b.value.toLowerCase().startsWith(wanted)) -
      Number(a.value.toLowerCase().startsWith(wanted)),
  );
}
