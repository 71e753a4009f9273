import { findProgram } from '../../../base/find-program.ts'

const usualPlaces = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'microsoft-edge',
]

export interface ChromiumPlaces {
  /** As the config names it; null where it names none. */
  executable: string | null
  /** Where programs are looked for. */
  searchPath: string
}

/** The user's own browser. None is ever fetched. */
export function findChromium({ executable, searchPath }: ChromiumPlaces): Promise<string | undefined> {
  return findProgram(executable === null ? usualPlaces : [executable], searchPath)
}

export const noChromium =
  'There is no Chromium here. The user can install one (Debian: sudo apt-get install chromium; Chrome and Edge serve as ' +
  'well), or name it in familiar.toml: executable under [tools.browser].'

export interface BrowserReport {
  executable: string | null
  /** What is wrong with it or weaker than it could be; null where nothing is. */
  problem: string | null
}

/** For `familiar doctor`. */
export async function inspectBrowser(places: ChromiumPlaces, isRoot: boolean): Promise<BrowserReport> {
  const executable = (await findChromium(places)) ?? null
  if (executable === null) return { executable, problem: noChromium }
  const problem = isRoot
    ? 'Familiar runs as root, and Chromium has no sandbox of its own then: a page that breaks out of it is root too. Run Familiar as a user of its own.'
    : null
  return { executable, problem }
}
