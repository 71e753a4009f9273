import fc from 'fast-check'
import { allowedElements } from '../../../src/tools/cards/allowed-elements.ts'
import { anyText } from '../../support/any-text.ts'

const names = fc.constantFrom(...allowedElements.keys())
const foreignNames = fc.constantFrom(
  'math',
  'mtext',
  'style',
  'title',
  'template',
  'noscript',
  'select',
  'option',
  'form',
  'font',
  'nobr',
  'button',
  'foreignObject',
  'desc',
  'textarea',
  'iframe',
  'plaintext',
  'ruby',
  'rt',
  'center',
)
const attributes = fc.constantFrom(
  '',
  ' style="color:red;width:calc(1px + (2px * 3))"',
  ' style=\'font-family:"a b";background:url(x)\'',
  ' id=x fill=url(#x)',
  ' href=https://example.com/a?b=c',
  ' href="https://\u202eexample.com@b.example"',
  ' colspan=3 title="a&quot;b<c>"',
  ' open src=data:image/gif;base64,R0lGODlhAQABAAAAACw=',
  ' onclick=x',
  // As long as they may be, or longer.
  ` id=${'i'.repeat(64)} fill=url(#${'i'.repeat(64)})`,
  ` href=https://example.com/${'ü'.repeat(250)}`,
  ` href=https://example.com/${'x'.repeat(1_900)}`,
  ` title="${'t '.repeat(1_500)}"`,
  ` alt="${'\u{1f600}'.repeat(1_001)}"`,
)
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(names, attributes).map(([name, text]) => `<${name}${text}>`) },
  { weight: 4, arbitrary: names.map((name) => `</${name}>`) },
  { weight: 1, arbitrary: foreignNames.map((name) => `<${name}>`) },
  { weight: 1, arbitrary: foreignNames.map((name) => `</${name}>`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'a',
      ' ',
      '\n',
      '&amp;lt;',
      '&nbsp;',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '\r\n',
      '\u0000',
      '&#x202e;',
      '"',
      '>',
    ),
  },
  { weight: 1, arbitrary: anyText },
)

/** Starts and ends of elements in any order, with what belongs in none of them. */
export const tagSoup: fc.Arbitrary<string> = fc
  .array(piece, { minLength: 5, maxLength: 40 })
  .map((pieces) => pieces.join(''))
