import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { ChatReply } from '../../src/protocol/api.ts'
import type { TurnEvent } from '../../src/protocol/events.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { makeDocx, makeXlsx, makeZip } from '../support/made-office.ts'
import { makePdf } from '../support/made-pdf.ts'
import { startFamiliar } from '../support/running-familiar.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function open(skills: Readonly<Record<string, Readonly<Record<string, string>>>> = {}) {
  const fake = await startFakeModel()
  closers.push(fake.close)
  const familiar = await startFamiliar({
    env: { FAMILIAR_SANDBOX: 'embedded' },
    toml: '[memory]\nextraction = false\n',
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`,
    },
  })
  closers.push(familiar.close)
  const inWorkspace = (...names: string[]) => join(familiar.home, 'workspace', ...names)
  for (const [name, files] of Object.entries(skills)) {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(inWorkspace('skills', name, path)), { recursive: true })
      writeFileSync(inWorkspace('skills', name, path), content)
    }
  }
  if (Object.keys(skills).length > 0) await familiar.request('POST', '/api/v1/skills/reload')
  return {
    familiar,
    inWorkspace,
    /** The last request of the model. */
    asked: () => fake.requests.at(-1)?.bytes ?? '',
    /** One message with a file; returns where the file is stored. */
    async attach(name: string, data: Uint8Array): Promise<string> {
      fake.reply({ text: 'received' })
      const file = { name, media_type: 'application/octet-stream', data: Buffer.from(data).toString('base64') }
      const reply = await familiar.chat('Here it is', { attachments: [file] })
      return reply.attachments?.[0]?.path ?? ''
    },
    /** One message, on which the model makes these calls, one after the other. */
    async calls(...calls: { name: string; input: unknown }[]): Promise<ChatReply> {
      for (const call of calls) fake.reply({ toolCalls: [call] })
      fake.reply({ text: 'done' })
      return await familiar.chat('Please do it')
    },
    async download(reply: ChatReply, path: string): Promise<Buffer> {
      const file = reply.files?.find((one) => one.path === path)
      const response = await familiar.request('GET', file?.url ?? '/none')
      expect(response.status, `${path}: ${JSON.stringify(reply.files)}`).toBe(200)
      return Buffer.from(await response.arrayBuffer())
    },
    /** The text that the page shows as a preview. */
    async preview(reply: ChatReply, path: string): Promise<string> {
      const file = reply.files?.find((one) => one.path === path)
      const response = await familiar.request('GET', `${file?.url}/text`)
      return ((await response.json()) as { text: string }).text
    },
  }
}

const exec = (command: string) => ({ name: 'exec', input: { command } })
const script = (name: string, path: string, ...args: string[]) => ({
  name: 'run_skill_script',
  input: { name, path, args },
})

describe.skipIf(!existsSync('/usr/bin/bwrap'))('work on the user’s files', () => {
  it('HANDS-4 files of a command are in the reply, its events and the workspace, as it was then', async () => {
    const { familiar, inWorkspace, calls, download, asked } = await open()
    writeFileSync(inWorkspace('plan.md'), 'Lisbon')
    const reply = await calls(
      exec("cat plan.md; printf 'a,b\\n1,2\\n' > table.csv; echo first > note.txt"),
      exec('echo second > note.txt'),
    )
    expect(reply.files).toEqual([
      { name: 'table.csv', path: 'table.csv', bytes: 8, media_type: 'text/csv', url: expect.any(String) },
      { name: 'note.txt', path: 'note.txt', bytes: 7, media_type: 'text/plain', url: expect.any(String) },
    ])
    expect(asked()).toContain('Lisbon')
    writeFileSync(inWorkspace('table.csv'), 'changed by the user')
    expect((await download(reply, 'table.csv')).toString()).toBe('a,b\n1,2\n')
    expect(readFileSync(inWorkspace('note.txt'), 'utf8')).toBe('second\n')
    const past = await familiar.request('GET', `/api/v1/sessions/${reply.session_id}/turn-events?limit=200`)
    const { events } = (await past.json()) as { events: { event: TurnEvent }[] }
    const media = events.flatMap(({ event }) => (event.type === 'media' ? event.media : []))
    expect(media.map(({ path }) => path)).toEqual(['note.txt', 'table.csv', 'note.txt'])
    const stranger = await familiar.request('GET', reply.files?.[0]?.url ?? '', undefined, {
      authorization: 'Bearer x',
    })
    expect(stranger.status).toBe(401)
  }, 120_000)

  it('SKILL-2 a Word file is unpacked, edited and packed by the scripts of a skill, over several calls', async () => {
    const { attach, calls, download, preview, inWorkspace } = await open({ docx })
    const path = await attach('letter.docx', makeDocx(['Dear Ruth', 'See you in May'], ['left', 'right']))
    const reply = await calls(
      script('docx', 'scripts/unpack.py', path, '/scratch/letter'),
      exec('sed -i s/Ruth/Hannah/ /scratch/letter/word/document.xml'),
      exec('python3 /skills/docx/scripts/pack.py /scratch/letter letter-for-hannah.docx'),
    )
    expect(reply.files?.map((file) => [file.path, file.media_type])).toEqual([
      ['letter-for-hannah.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ])
    expect(await preview(reply, 'letter-for-hannah.docx')).toMatch(/Dear Hannah[\s\S]*See you in May[\s\S]*left/)
    expect(await download(reply, 'letter-for-hannah.docx')).toEqual(readFileSync(inWorkspace('letter-for-hannah.docx')))
  }, 120_000)

  it('SKILL-2 a spreadsheet gets a row of totals', async () => {
    const { attach, calls, preview } = await open({ xlsx })
    const rows = [
      ['rent', 950.5],
      ['food', 300],
    ]
    const path = await attach('sums.xlsx', makeXlsx(rows))
    const reply = await calls(script('xlsx', 'scripts/total.py', path, 'totals.xlsx'))
    expect(await preview(reply, 'totals.xlsx')).toContain('| Total | 1250.5 |')
  }, 120_000)

  it('SKILL-2 a presentation gets another title', async () => {
    const { attach, calls, preview } = await open({ pptx })
    const path = await attach('talk.pptx', talk)
    const reply = await calls(script('pptx', 'scripts/retitle.py', path, 'new/talk.pptx', 'Old title', 'New title'))
    expect(await preview(reply, 'new/talk.pptx')).toContain('New title')
  }, 120_000)

  it('SKILL-2 a PDF gets a stamp', async () => {
    const { attach, calls, preview, inWorkspace } = await open({ pdf })
    const path = await attach('paper.pdf', makePdf(['A paper of eleven']))
    const reply = await calls(script('pdf', 'scripts/stamp.py', path, 'stamped.pdf', 'Seen'))
    expect(readFileSync(inWorkspace('stamped.pdf')).toString('latin1')).toContain('(Seen)')
    expect(await preview(reply, 'stamped.pdf')).toContain('A paper of eleven')
  }, 120_000)

  it('SKILL-2 a skill with a package of modules runs as its instructions say, from both tools', async () => {
    const { attach, calls, preview, asked } = await open({ forms: forms })
    const path = await attach('offer.docx', makeDocx(['Dear Ruth']))
    const reply = await calls(
      { name: 'load_skill', input: { name: 'forms' } },
      // Named without its ending, from a folder of its own.
      script('forms', 'scripts/office/unpack', path, 'unpacked/'),
      exec('sed -i s/Ruth/Hannah/ unpacked/word/document.xml'),
      exec('echo draft > notes.txt; python /skills/forms/scripts/office/pack.py unpacked/ hannah.docx'),
      exec('rm notes.txt'),
    )
    // The parts of the file and the notes were needed on the way only.
    expect(reply.files?.map((file) => file.path)).toEqual(['hannah.docx'])
    expect(await preview(reply, 'hannah.docx')).toContain('Dear Hannah')
    await calls({ name: 'read_skill_file', input: { name: 'forms', path: 'references/GUIDE.md' } })
    expect(asked()).toContain('Fields have names.')
    await calls({ name: 'load_skill', input: { name: 'forms' } })
    expect(asked()).toContain('/skills/forms in exec')
    expect(asked()).toContain('scripts/office/helpers/names.py')
  }, 120_000)

  it('SKILL-2 a script for Node turns a table into a page, with a file beside the skill', async () => {
    const { attach, calls, download, asked } = await open({ tables: tables })
    const path = await attach('sums.csv', Buffer.from('rent,950\nfood,300\n'))
    const reply = await calls(script('tables', '/skills/tables/scripts/table.mjs', path, 'out/sums.html'))
    expect((await download(reply, 'out/sums.html')).toString()).toBe('<h1>Sums</h1><td>rent</td><td>food</td>')
    expect(reply.files?.map(({ path, media_type }) => [path, media_type])).toEqual([['out/sums.html', 'text/html']])
    await calls(script('tables', 'scripts/other.mjs'))
    expect(asked()).toContain('no file')
  }, 120_000)

  it('HANDS-5 the result of a run says what it did not find, and how to get it', async () => {
    const { calls, asked } = await open({ tables: tables })
    await calls(exec('python3 -c "import quokka_pdf"'))
    expect(asked()).toContain('Call again with packages: [\\"quokka_pdf\\"]')
    await calls(exec('node -e "require(\'quokka-pdf\')"'))
    expect(asked()).toContain('Call again with packages: [\\"npm:quokka-pdf\\"]')
    await calls(script('tables', 'scripts/convert.py'))
    expect(asked()).toContain('quokka-office is not installed on this machine')
  }, 120_000)

  it('HANDS-2 a script that fills the workspace is stopped, and nothing is lost', async () => {
    const { calls, asked, inWorkspace } = await open({ tables: tables })
    writeFileSync(inWorkspace('keep.txt'), 'kept')
    const reply = await calls(
      exec('echo changed > keep.txt; for i in $(seq 400); do head -c 1000000 /dev/zero > big-$i; done; sleep 20'),
      script('tables', 'scripts/fill.py'),
    )
    expect(reply.files ?? []).toEqual([])
    expect(asked()).toContain('It was stopped because it wrote too much. One run may add 256 MB to /workspace')
    expect(readFileSync(inWorkspace('keep.txt'), 'utf8')).toBe('kept')
    expect(existsSync(inWorkspace('big-1'))).toBe(false)
    expect(existsSync(inWorkspace('fill-1'))).toBe(false)
    const next = await calls(exec('cat keep.txt; echo fine > after.txt'))
    expect(next.files?.map(({ path }) => path)).toEqual(['after.txt'])
  }, 180_000)

  it('HANDS-5 a package that does not exist is an error that says so', async () => {
    const { calls, asked } = await open()
    await calls({ name: 'exec', input: { command: 'echo it ran', packages: ['no-such-package-77'] } })
    expect(asked()).toContain('no-such-package-77')
    expect(asked()).toContain('The command was not run')
    expect(asked()).not.toContain('it ran\\n')
  }, 120_000)
})

const skillText = (name: string) =>
  `---\nname: ${name}\ndescription: Work with .${name} files.\n---\nSee scripts/. Results go into the workspace.\n`

const docx = {
  'SKILL.md': skillText('docx'),
  'scripts/unpack.py': `
import os, sys, zipfile
source, target = sys.argv[1:]
os.makedirs(target)
with zipfile.ZipFile(source) as archive:
    archive.extractall(target)
print("unpacked", len(os.listdir(target)))
`,
  'scripts/pack.py': `
import os, sys, zipfile
source, target = sys.argv[1:]
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            archive.write(path, os.path.relpath(path, source))
`,
}

const xlsx = {
  'SKILL.md': skillText('xlsx'),
  'scripts/total.py': `
import re, sys, zipfile
source, target = sys.argv[1:]
with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as written:
    for entry in read.infolist():
        data = read.read(entry)
        if entry.filename.startswith("xl/worksheets/sheet"):
            text = data.decode()
            numbers = [float(one) for one in re.findall(r"<c (?![^>]*t=)[^>]*><v>([\\d.]+)</v>", text)]
            last = max(int(one) for one in re.findall(r'<row r="(\\d+)"', text)) + 1
            row = '<row r="%d"><c r="A%d" t="inlineStr"><is><t>Total</t></is></c><c r="B%d"><v>%s</v></c></row>'
            data = text.replace("</sheetData>", row % (last, last, last, sum(numbers)) + "</sheetData>").encode()
        written.writestr(entry.filename, data)
`,
}

const pptx = {
  'SKILL.md': skillText('pptx'),
  'scripts/retitle.py': `
import os, sys, zipfile
source, target, old, new = sys.argv[1:]
os.makedirs(os.path.dirname(target), exist_ok=True)
with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as written:
    for entry in read.infolist():
        written.writestr(entry.filename, read.read(entry).replace(old.encode(), new.encode()))
`,
}

/** Modules in folders, as published skills have them. */
const forms = {
  'SKILL.md': `${skillText('forms')}\nFor fields see REFERENCES/guide.md. Start with: python scripts/office/unpack.py IN OUT\n`,
  'references/guide.md': 'Fields have names.\n',
  'scripts/__init__.py': '',
  'scripts/office/helpers/__init__.py': 'from .names import sort_names',
  'scripts/office/helpers/names.py':
    'def sort_names(names):\n    return sorted(names, key=lambda name: name != "[Content_Types].xml")',
  'scripts/office/unpack.py': `
import sys, zipfile
from pathlib import Path
from helpers import sort_names
source, target = sys.argv[1:]
with zipfile.ZipFile(source) as archive:
    for name in sort_names(archive.namelist()):
        path = Path(target) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive.read(name))
`,
  'scripts/office/pack.py': `
import sys, zipfile
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent.parent))
from office.helpers.names import sort_names
source, target = Path(sys.argv[1]), sys.argv[2]
names = [str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()]
with zipfile.ZipFile(target, "w") as archive:
    for name in sort_names(names):
        archive.write(source / name, name)
`,
}

const tables = {
  'SKILL.md': skillText('tables'),
  'templates/head.html': '<h1>Sums</h1>',
  'scripts/rows.mjs': 'export const rows = (text) => text.trim().split("\\n").map((line) => line.split(","))',
  'scripts/table.mjs': `
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { rows } from './rows.mjs'
const [source, target] = process.argv.slice(2)
const head = readFileSync(new URL('../templates/head.html', import.meta.url), 'utf8')
mkdirSync(dirname(target), { recursive: true })
writeFileSync(target, head + rows(readFileSync(source, 'utf8')).map(([name]) => '<td>' + name + '</td>').join(''))
`,
  'scripts/convert.py': 'import os, sys\nsys.exit(os.system("quokka-office --convert") >> 8)\n',
  'scripts/fill.py': 'for number in range(400):\n    open(f"fill-{number}", "wb").write(bytes(1_000_000))\n',
}

const drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
const slide = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
const talk = makeZip({
  '[Content_Types].xml': '<Types/>',
  'ppt/presentation.xml': '<p:presentation><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst></p:presentation>',
  'ppt/_rels/presentation.xml.rels': '<Relationships><Relationship Id="a" Target="slides/slide1.xml"/></Relationships>',
  'ppt/slides/slide1.xml': `<?xml version="1.0"?><p:sld ${slide} ${drawing}><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>Old title</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`,
})

const pdf = {
  'SKILL.md': skillText('pdf'),
  // An incremental update: the page's stream gets one more text, and the old bytes stay.
  'scripts/stamp.py': `
import re, sys
source, target, words = sys.argv[1:]
data = open(source, "rb").read()
number = int(re.search(rb"/Contents (\\d+) 0 R", data)[1])
stream = re.search(rb"\\n%d 0 obj.*?stream\\r?\\n(.*?)endstream" % number, data, re.S)[1]
more = stream + b" BT /F1 12 Tf 72 40 Td (" + words.encode() + b") Tj ET"
root = re.search(rb"/Root (\\d+ 0 R)", data)[1]
size = re.search(rb"/Size (\\d+)", data)[1]
before = re.search(rb"startxref\\s+(\\d+)", data)[1]
at = len(data) + 1
update = b"\\n%d 0 obj\\n<< /Length %d >>\\nstream\\n%s\\nendstream\\nendobj\\n" % (number, len(more), more)
xref = at + len(update) - 1
update += b"xref\\n%d 1\\n%010d 00000 n \\ntrailer\\n<< /Size %s /Root %s /Prev %s >>\\nstartxref\\n%d\\n%%%%EOF" % (
    number, at, size, root, before, xref)
open(target, "wb").write(data + update)
`,
}
