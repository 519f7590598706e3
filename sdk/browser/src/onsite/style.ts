/** Of the shadow root: nothing of the page's own style reaches it, nor the other way round. */
export const STYLE = `:host{all:initial}
*{box-sizing:border-box}
.box{font:16px/1.7 system-ui,Tahoma,sans-serif;color:#1a1a1a;background:#fff;border:0;border-radius:12px;padding:20px;max-width:min(420px,calc(100vw - 32px));max-height:calc(100vh - 32px);overflow:auto;box-shadow:0 8px 40px #0004;text-align:start}
dialog::backdrop{background:#0008}
.banner,.survey{position:fixed;z-index:2147483000;inset-inline:16px;margin-inline:auto}
.banner{max-width:none;display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;padding:12px 16px}
.bottom{bottom:16px}.top{top:16px}
.survey{bottom:16px;inset-inline:auto 16px}
h2{font-size:1.1em;margin:0 0 8px}.banner h2{margin:0}
p{margin:0 0 12px;white-space:pre-line;overflow-wrap:anywhere}.banner p{margin:0;flex:1}
img{display:block;max-width:100%;border-radius:8px;margin-bottom:12px}
iframe{border:0;width:100%;height:50vh}
form{display:grid;margin:0;gap:12px}label,fieldset{display:grid;gap:4px;border:0;padding:0;margin:0}
legend{padding:0;margin-bottom:4px}
input:not([type=radio]),textarea{font:inherit;padding:8px;border:1px solid #767676;border-radius:8px;width:100%}
.options{display:flex;flex-wrap:wrap;gap:4px 16px}.options label{display:flex;gap:6px;align-items:center;min-height:32px}
.buttons{display:flex;flex-wrap:wrap;gap:8px;margin-top:12px}.banner .buttons{margin:0}
button,.button{font:inherit;cursor:pointer;border:1px solid #767676;border-radius:8px;padding:6px 16px;background:none;color:inherit;text-decoration:none}
.main{background:var(--color,#1d4ed8);border-color:transparent;color:#fff}
@supports(color:lch(from red l c h)){.main{color:lch(from var(--color,#1d4ed8) calc((50 - l)*infinity) 0 0)}}
:focus-visible{outline:3px solid #2563eb;outline-offset:2px}
.error{color:#b00020}
@media(prefers-color-scheme:dark){.box{background:#1f2937;color:#f3f4f6}input:not([type=radio]),textarea{background:#111827;color:inherit}.error{color:#ff9aa8}}
@media(prefers-reduced-motion:no-preference){.box{animation:in .2s}@keyframes in{from{opacity:0}}}`;
