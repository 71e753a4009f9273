import { type SeededRandom, seededRandom } from './seeded-random.ts'

export interface Vocabulary {
  /** As often as people use it: few words all the time, most of them hardly ever. */
  word(random: SeededRandom): string
  person(random: SeededRandom): string
  place(random: SeededRandom): string
}

const words = 50_000
const people = 3_000
const places = 4_000

/**
 * The vocabulary of a user's memories: the most common words are English, the others are invented.
 *
 * The frequencies match talk between friends: the word of rank `r` occurs about as often as `1 / (r + 10)`, so the
 * first is in a fifth of the lines and the thousandth in one of five hundred.
 */
export function createVocabulary(seed: number): Vocabulary {
  const random = seededRandom(seed)
  const taken = new Set<string>()
  const invent = (count: number) => Array.from({ length: count }, () => newWord(random, taken))
  const all = [...commonWords, ...invent(words - commonWords.length)]
  const pickWord = rankedPicker(all.length, 10)
  const firstNames = invent(people).map(capitalised)
  const pickPerson = rankedPicker(people, 5)
  const placeNames = invent(places).map(
    (name, index) => `${placeKinds[index % placeKinds.length]} ${capitalised(name)}`,
  )
  const pickPlace = rankedPicker(places, 5)
  return {
    word: (stream) => all[pickWord(stream)] ?? '',
    person: (stream) => firstNames[pickPerson(stream)] ?? '',
    place: (stream) => placeNames[pickPlace(stream)] ?? '',
  }
}

/** Ranks from zero, each with the weight `1 / (rank + flatness)`. */
function rankedPicker(count: number, flatness: number): (random: SeededRandom) => number {
  const upTo = new Float64Array(count)
  let sum = 0
  for (let rank = 0; rank < count; rank += 1) {
    sum += 1 / (rank + 1 + flatness)
    upTo[rank] = sum
  }
  return (random) => {
    const wanted = random.next() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((upTo[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}

function newWord(random: SeededRandom, taken: Set<string>): string {
  for (;;) {
    const syllables = 2 + random.below(2)
    const parts = Array.from({ length: syllables }, () => random.pick(onsets) + random.pick(vowels))
    const word = parts.join('') + random.pick(codas)
    if (!taken.has(word)) {
      taken.add(word)
      return word
    }
  }
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

const onsets = 'b br c ch cl d dr f fl g gr h j k kl l m n p pl pr r s sh sk st t tr v w z'.split(' ')
const vowels = 'a e i o u ai ea ou'.split(' ')
const codas = ['', '', 'l', 'm', 'n', 'r', 't', 'nd', 'rk', 'sk']
const placeKinds = ['Lake', 'Mount', 'Port', 'Villa', 'Café', 'Saint', 'New', 'Castle']

const commonWords =
  `great really good like thanks time love sounds fun awesome new day work family photo glad wow cool feel
  amazing keep life nice support help things hope took friends best looks kids people excited better trip happy week hear
  always making lot proud right back weekend journey started working hard home game inspiring thought hey find beautiful
  year show special set share books team try take moment next important painting last favourite way looking enjoy world
  yesterday music playing big part heard started dance challenging start forward night place watching job relaxing went
  learning tough today reading art health mean little years dog around nature city class project experience different food
  picture house cooking together helps creative passion idea even ever friend place old first read free visit car chance
  summer winter money school office garden kitchen birthday dinner lunch coffee doctor meeting train flight ticket phone
  morning evening problem question plan story movie song concert museum market beach mountain river park walk running`
    .split(/\s+/)
    .filter((word, index, all) => all.indexOf(word) === index)
