export interface CardElement {
  name: string
  attributes: Readonly<Record<string, string>>
  children: readonly CardNode[]
}

/** A piece of a card: text, or an element with what is in it. */
export type CardNode = string | CardElement

export const voidElements: ReadonlySet<string> = new Set(['br', 'col', 'hr', 'img', 'wbr'])

export function hasStyle(element: CardElement, pattern: RegExp): boolean {
  return pattern.test(element.attributes.style ?? '')
}
