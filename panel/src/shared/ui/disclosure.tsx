import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import styles from './disclosure.module.css';

/**
 * A button that shows a small panel below it. Escape, a press outside and leaving it with the
 * keyboard close it.
 */
export function Disclosure({
  label,
  content,
  children,
}: {
  /** For screen readers, when the content of the button does not say it. */
  label?: string;
  /** Of the button. */
  content: ReactNode;
  children: (close: () => void) => ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const pressed = (event: PointerEvent) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener('pointerdown', pressed);
    return () => document.removeEventListener('pointerdown', pressed);
  }, [isOpen]);
  return (
    <div
      className={styles['box']}
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        setOpen(false);
        button.current?.focus();
      }}
      onBlur={(event) => {
        if (event.relatedTarget && !event.currentTarget.contains(event.relatedTarget))
          setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        className={styles['button']}
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {content}
      </button>
      <div id={id} className={styles['panel']} hidden={!isOpen}>
        {isOpen ? children(() => setOpen(false)) : null}
      </div>
    </div>
  );
}
