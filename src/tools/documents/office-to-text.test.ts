import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeDocx, makeXlsx, makeZip } from '../../../test/support/made-office.ts'
import { officeToText } from './office-to-text.ts'

const limit = 500_000

describe('officeToText', () => {
  it('reads headings, paragraphs, lists and tables of a Word document', () => {
    const { text } = officeToText(makeDocx(['One &amp; two', 'Three'], ['left', 'a | b']), limit)
    expect(text).toBe('# The heading\n\nOne & two\n\nThree\n\n| left | a \\| b |\n| --- | --- |')
  })

  it('reads cells by column, with dates as dates', () => {
    const text = officeToText(
      makeZip({
        'xl/workbook.xml':
          '<workbook><sheets><sheet name="Q1" r:id="a"/><sheet name="Empty" r:id="b"/></sheets></workbook>',
        'xl/_rels/workbook.xml.rels':
          '<Relationships><Relationship Id="a" Target="/xl/s1.xml"/><Relationship Id="b" Target="s2.xml"/></Relationships>',
        'xl/styles.xml': '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        'xl/s1.xml':
          '<worksheet><sheetData><row><c r="A1" t="inlineStr"><is><t>Day</t></is></c><c r="C1" t="b"><v>1</v></c></row>' +
          '<row><c r="A2" s="1"><v>46023</v></c><c r="C2"><f>1+1</f><v>2</v></c><c r="D2"><f>SUM(A1:B1)</f><v></v></c></row></sheetData></worksheet>',
        'xl/s2.xml': '<worksheet><sheetData/></worksheet>',
      }),
      limit,
    )
    expect(text).toMatchObject({
      text: '## Sheet: Q1\n\n| Day |  | TRUE |\n| --- | --- | --- |\n| 2026-01-01 |  | 2 | =SUM(A1:B1) |\n\n## Sheet: Empty\n\n(empty)',
      pages: { read: 2, total: 2 },
    })
  })

  it('reads slides in their order, with notes', () => {
    const slide = (text: string) => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`
    const { text } = officeToText(
      makeZip({
        'ppt/presentation.xml':
          '<p:presentation><p:sldIdLst><p:sldId r:id="b"/><p:sldId r:id="a"/></p:sldIdLst></p:presentation>',
        'ppt/_rels/presentation.xml.rels':
          '<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>',
        'ppt/slides/slide1.xml': slide('Last'),
        'ppt/slides/slide2.xml': slide('First'),
        'ppt/slides/_rels/slide2.xml.rels':
          '<Relationships><Relationship Id="n" Target="../notesSlides/notesSlide1.xml"/></Relationships>',
        'ppt/notesSlides/notesSlide1.xml': slide('Say hello'),
      }),
      limit,
    )
    expect(text).toBe('## Slide 1 of 2\n\nFirst\n\nNotes: Say hello\n\n## Slide 2 of 2\n\nLast')
  })

  it('reads a text of a slide once that is repeated for older programs', () => {
    const text = '<a:p><a:r><a:t>Sum</a:t></a:r></a:p>'
    const slide = `<p:sld><mc:AlternateContent><mc:Choice>${text}</mc:Choice><mc:Fallback>${text}</mc:Fallback></mc:AlternateContent></p:sld>`
    const zip = makeZip({
      'ppt/presentation.xml': '<p:presentation><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst></p:presentation>',
      'ppt/_rels/presentation.xml.rels': '<Relationships><Relationship Id="a" Target="slide1.xml"/></Relationships>',
      'ppt/slide1.xml': slide,
    })
    expect(officeToText(zip, limit).text).toBe('## Slide 1 of 1\n\nSum')
  })

  it('reads OpenDocument texts and sheets', () => {
    const content =
      '<office:text><text:h text:outline-level="2">Plan</text:h><text:list><text:list-item><text:p>Milk</text:p></text:list-item></text:list></office:text>'
    expect(officeToText(makeZip({ 'content.xml': content }), limit).text).toBe('## Plan\n\n- Milk')
    const sheet =
      '<table:table table:name="S"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>' +
      '<table:table-cell table:number-columns-repeated="1000000"/></table:table-row></table:table>'
    const mimetype = 'application/vnd.oasis.opendocument.spreadsheet'
    expect(officeToText(makeZip({ mimetype, 'content.xml': sheet }), limit).text).toBe('## Sheet: S\n\n| a |\n| --- |')
  })

  it('SEC-18 unpacks up to a limit, and explains what is wrong with a damaged file', () => {
    const bomb = makeZip({ 'word/document.xml': Buffer.alloc(70_000_000, ' ') })
    expect(() => officeToText(bomb, limit)).toThrow('too large')
    expect(() => officeToText(makeZip({ 'readme.txt': 'hello' }), limit)).toThrow('archive')
    const whole = makeXlsx([['a', 1]])
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 }), fc.boolean(), (at, byte, isCut) => {
        const broken = isCut ? whole.slice(0, at) : Uint8Array.from(whole).fill(byte, at, at + 1)
        try {
          officeToText(broken, limit)
        } catch (error) {
          expect(error).toBeInstanceOf(Error)
        }
      }),
    )
  })

  it('ASSET-6a reads the visible text of Word: no deleted words, no field codes, and a text box once', () => {
    const box = '<w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent>'
    const paragraphs = [
      '<w:r><w:t xml:space="preserve">Kept </w:t></w:r><w:ins><w:r><w:t>added</w:t></w:r></w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>',
      '<w:r><w:instrText>HYPERLINK "https://example.org"</w:instrText></w:r><w:hyperlink><w:r><w:t>a link</w:t></w:r></w:hyperlink>',
      `<w:r><mc:AlternateContent><mc:Choice>${box}</mc:Choice><mc:Fallback><w:pict>${box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>`,
      '<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r>',
    ].map((runs) => `<w:p>${runs}</w:p>`)
    const control = '<w:sdt><w:sdtContent><w:p><w:r><w:t>A field of a form</w:t></w:r></w:p></w:sdtContent></w:sdt>'
    const body = `<w:document><w:body>${paragraphs.join('')}${control}</w:body></w:document>`
    const { text } = officeToText(makeZip({ 'word/document.xml': body }), 10_000)
    expect(text).toBe('Kept added\n\na link\n\nIn a box\n\nwell-known\n\nA field of a form')
  })
})
