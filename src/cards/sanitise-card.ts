import sanitizeHtml from 'sanitize-html'
import { toStorableText } from '../base/text.ts'
import { allowedElements, silentElements } from './allowed-elements.ts'
import { arrangeNodes } from './arrange-nodes.ts'
import { voidElements } from './card-node.ts'
import { readFragment } from './read-fragment.ts'
import { writeFragment } from './write-fragment.ts'

const sizeLimit = 256 * 1024
/** Of starts and ends of elements together. */
const tagLimit = 20_000
const nestingLimit = 200

/**
 * Foreign HTML as a fragment that runs nothing, loads nothing and leads nowhere, wherever it is put.
 *
 * The library parses and keeps what is listed; what it kept is then read into a tree, brought into an order that no
 * browser corrects, and written anew, so that nothing of the original spelling is left. Sanitising it again changes
 * nothing. What is too large is replaced by a sentence that says so.
 */
export function sanitiseCard(html: string): string {
  const problem = sizeProblem(html)
  if (problem) return problem
  const kept = sanitizeHtml(toStorableText(html), options)
  const written = writeFragment(arrangeNodes(readFragment(kept)))
  return sizeProblem(written) ?? written
}

const options: sanitizeHtml.IOptions = {
  allowedTags: [...allowedElements.keys()],
  allowedAttributes: Object.fromEntries([...allowedElements].map(([name, values]) => [name, Object.keys(values)])),
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: ['data'] },
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  nonTextTags: silentElements,
  selfClosing: [...voidElements],
  nestingLimit,
  // `safe-style.ts` has kept what may stay.
  parseStyleAttributes: false,
  transformTags: { '*': allowedTag },
}

/** Within `svg` the library writes some names with capitals, as a browser does. */
function allowedTag(tag: string, attributes: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const tagName = tag.toLowerCase()
  const values = allowedElements.get(tagName) ?? {}
  const kept = Object.entries(attributes).flatMap(([key, text]) => {
    const name = key.toLowerCase()
    const value = Object.hasOwn(values, name) ? values[name]?.(text) : undefined
    return value === undefined ? [] : [[name, value]]
  })
  return { tagName, attribs: Object.fromEntries(kept) }
}

function sizeProblem(html: string): string | undefined {
  if (html.length > sizeLimit) return '<p>This card is too large to be shown: more than 256 kB.</p>'
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) tags++
  return tags > tagLimit ? '<p>This card is too large to be shown: more than 10,000 elements.</p>' : undefined
}
