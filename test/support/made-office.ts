import { crc32, deflateRawSync } from 'node:zlib'

/** A zip archive of these entries, as Office writes them; with modes of Unix where some are given. */
export function makeZip(
  entries: Readonly<Record<string, string | Uint8Array>>,
  modes: Readonly<Record<string, number>> = {},
): Uint8Array {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(entries)) {
    const data = Buffer.from(content as string)
    const packed = deflateRawSync(data)
    const head = Buffer.alloc(26)
    head.writeUInt16LE(20, 0)
    head.writeUInt16LE(8, 4)
    head.writeUInt32LE(crc32(data), 10)
    head.writeUInt32LE(packed.length, 14)
    head.writeUInt32LE(data.length, 18)
    head.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), head, Buffer.from(name), packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt16LE(modes[name] ?? 0, 8)
    tail.writeUInt32LE(offset, 10)
    const start = Buffer.from(`PK\x01\x02\x14${name in modes ? '\x03' : '\x00'}`, 'latin1')
    directory.push(Buffer.concat([start, head, tail, Buffer.from(name)]))
    files.push(local)
    offset += local.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(directory.length, 4)
  end.writeUInt16LE(directory.length, 6)
  end.writeUInt32LE(list.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...files, list, Buffer.from('PK\x05\x06', 'latin1'), end])
}

const word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

/** A Word document: a heading, a paragraph for each text, and a table of one row. */
export function makeDocx(paragraphs: readonly string[], row: readonly string[] = []): Uint8Array {
  const run = (text: string) => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`
  const cells = row.map((cell) => `<w:tc>${run(cell)}</w:tc>`).join('')
  const heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>The heading</w:t></w:r></w:p>'
  const table = row.length > 0 ? `<w:tbl><w:tr>${cells}</w:tr></w:tbl>` : ''
  return makeZip({
    '[Content_Types].xml': '<Types/>',
    'word/document.xml': `<?xml version="1.0"?><w:document ${word}><w:body>${heading}${paragraphs.map(run).join('')}${table}</w:body></w:document>`,
  })
}

/** A workbook of one sheet. Texts are shared strings; numbers are in their cells. */
export function makeXlsx(rows: readonly (readonly (string | number)[])[], sheet = 'Data'): Uint8Array {
  const strings: string[] = []
  const cell = (value: string | number, row: number, column: number) => {
    const at = `${String.fromCharCode(65 + column)}${row + 1}`
    if (typeof value === 'number') return `<c r="${at}"><v>${value}</v></c>`
    strings.push(value)
    return `<c r="${at}" t="s"><v>${strings.length - 1}</v></c>`
  }
  const data = rows
    .map((row, index) => `<row r="${index + 1}">${row.map((value, at) => cell(value, index, at)).join('')}</row>`)
    .join('')
  return makeZip({
    'xl/workbook.xml': `<workbook xmlns:r="r"><sheets><sheet name="${sheet}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${data}</sheetData></worksheet>`,
    'xl/sharedStrings.xml': `<sst>${strings.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
  })
}
