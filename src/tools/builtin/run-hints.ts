import { oneLine, toDisplayText } from '../../base/text.ts'
import type { SandboxEnd } from '../../sandbox/sandbox.ts'

/** Modules of Python whose package has another name. */
const pythonPackages: Readonly<Record<string, string>> = {
  bs4: 'beautifulsoup4',
  Crypto: 'pycryptodome',
  cv2: 'opencv-python-headless',
  dateutil: 'python-dateutil',
  docx: 'python-docx',
  dotenv: 'python-dotenv',
  fitz: 'PyMuPDF',
  PIL: 'Pillow',
  pptx: 'python-pptx',
  sklearn: 'scikit-learn',
  yaml: 'PyYAML',
}

/** Programs of the machine that published scripts start: their product, and their package on Debian. */
const systemPrograms: Readonly<Record<string, readonly [product: string, debian: string]>> = {
  convert: ['ImageMagick', 'imagemagick'],
  ffmpeg: ['FFmpeg', 'ffmpeg'],
  gcc: ['a C compiler', 'gcc'],
  gs: ['Ghostscript', 'ghostscript'],
  libreoffice: ['LibreOffice', 'libreoffice'],
  magick: ['ImageMagick', 'imagemagick'],
  pandoc: ['Pandoc', 'pandoc'],
  pdfimages: ['Poppler', 'poppler-utils'],
  pdfinfo: ['Poppler', 'poppler-utils'],
  pdftoppm: ['Poppler', 'poppler-utils'],
  pdftotext: ['Poppler', 'poppler-utils'],
  qpdf: ['QPDF', 'qpdf'],
  soffice: ['LibreOffice', 'libreoffice'],
  tesseract: ['Tesseract', 'tesseract-ocr'],
}

const installers = new Set(['pip', 'pip3', 'npm', 'npx', 'yarn', 'pnpm', 'uv', 'apt', 'apt-get'])
const noInstallers =
  'Nothing can be installed from inside: there is no network. Call again with packages: names for Python, npm:NAME for Node.'

/** Without a network npm would try for minutes. */
export const runEnvironment = { npm_config_fetch_retries: '0' }

const missing: readonly [pattern: RegExp, hintFor: (name: string) => string | undefined][] = [
  [/No module named '?([A-Za-z_][\w.]{0,80})/g, pythonHint],
  [/Cannot find (?:module|package) '((?:@[\w.-]{1,60}\/)?[A-Za-z][\w./-]{0,100})'/g, nodeHint],
  [/\b([A-Za-z][\w.+-]{0,60}): (?:command )?not found/g, programHint],
  [/No such file or directory: '([A-Za-z][\w+-]{0,60})'/g, knownProgramHint],
  [/\b(?:spawn|spawnSync) ([A-Za-z][\w.+-]{0,60}) ENOENT/g, programHint],
  [
    /(EAI_AGAIN|ENOTFOUND registry|Failed to establish a new connection|externally-managed-environment)/g,
    () => noInstallers,
  ],
]

const maxHints = 3
const maxRead = 20_000

/**
 * Sentences about the packages and programs that a failed run did not find, and how to get them: models otherwise try
 * to install them in a sandbox without network.
 */
export function missingInRun(run: { end: SandboxEnd; stdout: Uint8Array; stderr: Uint8Array }): string[] {
  const said = [run.stderr, run.stdout].map((bytes) => new TextDecoder().decode(bytes).slice(-maxRead)).join('\n')
  // A script may report the failure of what it started and end well.
  return describeMissing(said)
}

export function describeMissing(said: string): string[] {
  const hints = missing.flatMap(([pattern, hintFor]) =>
    [...said.matchAll(pattern)].flatMap(([, name = '']) => hintFor(name) ?? []),
  )
  return [...new Set(hints)].slice(0, maxHints).map((hint) => oneLine(toDisplayText(hint)))
}

function pythonHint(module: string): string {
  const [top = ''] = module.split('.')
  const name = Object.hasOwn(pythonPackages, top) ? (pythonPackages[top] ?? top) : top
  return `The Python module ${top} is not installed. Call again with packages: ["${name}"]`
}

function nodeHint(module: string): string {
  const parts = module.split('/')
  const name = parts.slice(0, module.startsWith('@') ? 2 : 1).join('/')
  return `The Node package ${name} is not here. Call again with packages: ["npm:${name}"]; each call names its own`
}

function programHint(name: string): string | undefined {
  if (installers.has(name)) return noInstallers
  return knownProgramHint(name) ?? `${name} is not installed on this machine`
}

function knownProgramHint(name: string): string | undefined {
  const known = Object.hasOwn(systemPrograms, name) ? systemPrograms[name] : undefined
  if (!known) return undefined
  const [product, debian] = known
  return `${name} (${product}) is not installed on this machine. It cannot be installed from here; the user can, on Debian and Ubuntu with: sudo apt install ${debian}`
}
