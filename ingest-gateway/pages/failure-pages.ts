import { markup } from '../../platform/http/markup.ts';
import { page } from './page.ts';

/** Nothing can be read or recorded: the person's next try may succeed. */
export const UNAVAILABLE_PAGE = page({
  status: 503,
  title: 'اکنون در دسترس نیست',
  content: markup`<h1>اکنون در دسترس نیست</h1>
<p role="alert">درخواست شما انجام نشد. لطفاً چند دقیقهٔ دیگر دوباره تلاش کنید.</p>
<p><a href="">تلاش دوباره</a></p>`,
});

/** A form that is not one of ours, or was cut off. */
export const INCOMPLETE_PAGE = page({
  status: 400,
  title: 'درخواست ناقص رسید',
  content: markup`<h1>درخواست ناقص رسید</h1>
<p role="alert">چیزی تغییر نکرد. لطفاً صفحه را دوباره باز کنید و تنظیمات را ذخیره کنید.</p>
<p><a href="">باز کردن دوبارهٔ صفحه</a></p>`,
});
