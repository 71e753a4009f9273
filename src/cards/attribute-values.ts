import { toDisplayText } from '../base/text.ts'
import { cssColour } from './css-colour.ts'
import { addressLimit, linkAddress } from './link-address.ts'
import { safeStyle } from './safe-style.ts'

/** What may stand in an attribute: the value as it is written, or undefined where there must be none. */
export type AttributeValue = (text: string) => string | undefined

const imageLimit = 128 * 1024
const image = /^data:image\/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/]+={0,2})$/i
/** Before every id of a card, so that none of them is an id or a global name of the page around it. */
const idPrefix = 'card-'

/** As long as the longest address of a link, which is shown as a title. */
export const anyText: AttributeValue = (text) =>
  toDisplayText(text).trim().slice(0, addressLimit).toWellFormed().trim() || undefined
export const style: AttributeValue = (text) => safeStyle(text) || undefined
export const flag: AttributeValue = () => ''
export const count = matching(/^\d{1,6}$/)
export const number = matching(/^[+-]?\d{1,9}(?:\.\d{0,12})?$/)
export const length = matching(/^[+-]?(?:\d{1,9}(?:\.\d{0,12})?|\.\d{1,12})(?:%|[a-z]{1,4})?$/)
export const numberList = matching(/^[\d\s,.e+-]{1,50000}$/i)
export const lengthList = matching(/^[\d\s,.e%+-]{1,2000}(?:px|em)?$/i)
export const pathData = matching(/^[mzlhvcsqta\d\s,.e+-]{1,50000}$/i)
export const transforms = matching(
  /^(?:(?:matrix|translate|scale|rotate|skew[xy])\s?\([\d\s,.e+-]{0,200}\)[\s,]{0,3}){1,20}$/i,
)
export const language = matching(/^[a-z]{1,8}(?:-[a-z\d]{1,8}){0,4}$/i)
export const date = matching(/^[\d\s.:+TZPWDHMS-]{1,64}$/i)

export function oneOf(...words: string[]): AttributeValue {
  return (text) => words.find((word) => word.toLowerCase() === text.trim().toLowerCase())
}

export const colour: AttributeValue = (text) => cssColour(text)

export const id: AttributeValue = (text) => {
  const name = /^(?:card-)?([\w-]{1,64})$/.exec(text)?.[1]
  return name === undefined ? undefined : `${idPrefix}${name}`
}

/** A colour, or a gradient of the same card. */
export const paint: AttributeValue = (text) => {
  const reference = /^url\(\s?['"]?#([\w-]{1,80})['"]?\s?\)$/i.exec(text.trim())?.[1]
  if (reference === undefined) return oneOf('none')(text) ?? cssColour(text)
  const name = id(reference)
  return name === undefined ? undefined : `url(#${name})`
}

/** Another gradient of the same card. */
export const localReference: AttributeValue = (text) => {
  const name = text.trim().startsWith('#') ? id(text.trim().slice(1)) : undefined
  return name === undefined ? undefined : `#${name}`
}

/** A picture that is all here. No vector image: that is a document of its own, with script and references. */
export const imageData: AttributeValue = (text) => {
  if (text.length > imageLimit) return undefined
  const [, type, data] = image.exec(text.replace(/\s+/g, '')) ?? []
  return type && data ? `data:image/${type.toLowerCase().replace('jpg', 'jpeg')};base64,${data}` : undefined
}

export const address: AttributeValue = (text) => linkAddress(text)?.address

function matching(pattern: RegExp): AttributeValue {
  return (text) => {
    const value = text.trim()
    return pattern.test(value) ? value : undefined
  }
}
