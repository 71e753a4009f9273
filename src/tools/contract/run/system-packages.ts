// What a package of the system brings by another name than its own. Null: nothing that could be called.
const programs: Record<string, string | null> = {
  bash: 'bash',
  bc: 'bc',
  coreutils: 'env',
  curl: 'curl',
  'ca-certificates': null,
  ffmpeg: 'ffmpeg',
  findutils: 'find',
  gawk: 'gawk',
  git: 'git',
  grep: 'grep',
  imagemagick: 'convert',
  jq: 'jq',
  nodejs: 'node',
  npm: null,
  pandoc: 'pandoc',
  perl: 'perl',
  'poppler-utils': 'pdftotext',
  python3: 'python3',
  'python3-pip': null,
  'py3-pip': null,
  sed: 'sed',
  sqlite: 'sqlite3',
  sqlite3: 'sqlite3',
  'tesseract-ocr': 'tesseract',
  tzdata: null,
  unzip: 'unzip',
  wget: 'wget',
}

// The same by the name of the program, for the ones whose package in Debian is called otherwise.
const packages: Record<string, string> = {
  convert: 'imagemagick',
  node: 'nodejs',
  pdftotext: 'poppler-utils',
  python: 'python3',
  sqlite3: 'sqlite3',
  tesseract: 'tesseract-ocr',
}

/** The program that a package of apk or apt is installed for. Undefined where it is not known, or none. */
export function programOf(name: string): { name: string; package: string } | undefined {
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined
  return program ? { name: program, package: packageOf(program) } : undefined
}

/** Whether it can be told what a package is for. */
export function isKnownPackage(name: string): boolean {
  return Object.hasOwn(programs, name)
}

/** The package of Debian that has a program. */
export function packageOf(program: string): string {
  return (Object.hasOwn(packages, program) ? packages[program] : undefined) ?? program
}
