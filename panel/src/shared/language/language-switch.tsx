import { buttonClass } from '../ui/button.tsx';
import { changeLanguage, currentLanguage } from './language.ts';

/** Switches to the other language; its name is written in that language. */
export function LanguageSwitch() {
  const other = currentLanguage() === 'fa' ? 'en' : 'fa';
  return (
    <button
      type="button"
      className={buttonClass('quiet')}
      lang={other}
      onClick={() => changeLanguage(other)}
    >
      {other === 'en' ? 'English' : 'فارسی'}
    </button>
  );
}
