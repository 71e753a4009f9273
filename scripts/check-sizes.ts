import { isTest, type Report, type SourceFiles } from './source-files.ts'

const limit = 800

/** A source file is one subject: 100 to 400 lines is normal, and past the limit it holds two. */
export function checkSizes(files: SourceFiles): Report {
  const sizes = [...files]
    .filter(([path]) => path.startsWith('src/') && !isTest(path))
    .map(([path, text]) => ({ path, lines: text.split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines)
  const at = (share: number): number => sizes[Math.ceil(sizes.length * share) - 1]?.lines ?? 0
  return {
    findings: sizes
      .filter(({ lines }) => lines > limit)
      .map(({ path, lines }) => `${path}: ${lines} lines, the limit is ${limit}`),
    note: `${sizes.length} files, median ${at(0.5)} lines, p90 ${at(0.9)}`,
  }
}
