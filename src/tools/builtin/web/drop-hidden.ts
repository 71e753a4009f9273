import type { PageElement } from './page-dom.ts'

const neverShown =
  'script,style,noscript,template,iframe,frame,object,embed,applet,canvas,svg,math,audio,video,input,select,datalist,' +
  'textarea,dialog:not([open]),[hidden],[aria-hidden="true"]'

const zero = /^[+-]?0*\.?0*(px|em|rem|%|pt|vw|vh)?$/
const farAway = /^-\d{3,}/

/** Values of style attributes that keep an element from the eye. Stylesheets are not read. */
const hides: Record<string, (value: string) => boolean> = {
  display: (value) => value === 'none',
  visibility: (value) => value === 'hidden' || value === 'collapse',
  opacity: (value) => zero.test(value),
  'font-size': (value) => zero.test(value),
  width: (value) => zero.test(value),
  height: (value) => zero.test(value),
  'max-width': (value) => zero.test(value),
  'max-height': (value) => zero.test(value),
  color: (value) => value === 'transparent',
  transform: (value) => /^scale[xy]?\(0[,)]/.test(value),
  'clip-path': (value) => /^inset\((50|100)%/.test(value),
  clip: (value) => /^rect\([01](px)?[, ]/.test(value),
  'text-indent': (value) => farAway.test(value),
  left: (value) => farAway.test(value),
  top: (value) => farAway.test(value),
}

/**
 * Takes out what a reader of the page would not see: words put there for a program to read are the usual way to give it
 * orders. A help, not a wall: whatever is left is still anybody's text.
 */
export function dropHidden(root: PageElement): void {
  for (const element of [...root.querySelectorAll(neverShown)]) element.remove()
  for (const element of [...root.querySelectorAll('[style]')]) if (isHidden(element)) element.remove()
}

function isHidden(element: PageElement): boolean {
  const declarations = (element.getAttribute('style') ?? '').slice(0, 2_000).toLowerCase().split(';')
  return declarations.some((declaration) => {
    const colon = declaration.indexOf(':')
    const property = declaration.slice(0, Math.max(0, colon)).trim()
    const value = declaration
      .slice(colon + 1)
      .replace('!important', '')
      .trim()
    return Object.hasOwn(hides, property) && hides[property]?.(value) === true
  })
}
