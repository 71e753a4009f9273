/** What the model reads at most. The two marks count. */
const longestInput = 512
const longestWord = 100
/** More than the model can read of any ordinary text: what lies behind is not worth cleaning up. */
const mostCharacters = 16_384

/** Text to the numbers of the word pieces that the model was trained on. */
export interface WordPieces {
  /** Begins and ends with the model's marks. No text can break it or put a mark of its own inside. */
  encode(text: string): number[]
}

/** `vocabulary` is BERT's, in small letters: what continues a word begins with `##`. */
export function createWordPieces(vocabulary: ReadonlyMap<string, number>): WordPieces {
  const begin = numberOf('[CLS]')
  const end = numberOf('[SEP]')
  const unknown = numberOf('[UNK]')

  return {
    encode(text) {
      const numbers = [begin]
      for (const [word] of cleanedText(text).matchAll(wordOrMark)) {
        numbers.push(...piecesOf(word))
        if (numbers.length >= longestInput - 1) break
      }
      return [...numbers.slice(0, longestInput - 1), end]
    },
  }

  function numberOf(piece: string): number {
    const number = vocabulary.get(piece)
    if (number === undefined) throw new RangeError(`The vocabulary lacks ${piece}`)
    return number
  }

  /** The longest known beginning, then the longest known continuation, and so on; unknown if that gets stuck. */
  function piecesOf(word: string): number[] {
    const letters = [...word]
    if (letters.length > longestWord) return [unknown]
    const pieces: number[] = []
    for (let from = 0; from < letters.length; ) {
      let until = letters.length
      let piece: number | undefined
      for (; piece === undefined && until > from; until -= 1) {
        piece = vocabulary.get((from === 0 ? '' : '##') + letters.slice(from, until).join(''))
      }
      if (piece === undefined) return [unknown]
      pieces.push(piece)
      from = until + 1
    }
    return pieces
  }
}

const wordOrMark = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu
const unseen = /[^\P{C}\t\n\r]|\ufffd/gu
const accent = /\p{Mn}/gu
const chinese =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu

/** As the model saw its texts: small letters, no accents, every Chinese character a word. */
function cleanedText(text: string): string {
  return text
    .slice(0, mostCharacters)
    .replace(unseen, '')
    .replace(chinese, ' $& ')
    .normalize('NFD')
    .replace(accent, '')
    .toLowerCase()
}
