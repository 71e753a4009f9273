/**
 * What somebody cannot eat or take is told once, of a whole group ("allergic to shellfish"), and asked of one thing ("can I
 * eat shrimp?"). Missing that does harm, and a small embedding finds other sentences about eating nearer. So here, and only
 * here, a question is asked in more words than it has.
 */
const groups: readonly { words: string; members: string }[] = [
  {
    words: 'shellfish seafood crustacean',
    members: 'shrimp prawn crab lobster crayfish langoustine scampi mussel oyster clam scallop squid calamari',
  },
  { words: 'fish seafood', members: 'salmon tuna cod trout herring anchovy sardine mackerel sushi' },
  { words: 'nut', members: 'peanut almond walnut cashew hazelnut pistachio pecan macadamia marzipan nougat praline' },
  { words: 'dairy milk lactose', members: 'milk cheese butter cream yoghurt yogurt cheesecake custard whey' },
  {
    words: 'gluten wheat coeliac celiac',
    members: 'wheat bread pasta noodle flour barley rye couscous bulgur cracker',
  },
  { words: 'egg', members: 'egg omelette omelet mayonnaise meringue' },
  { words: 'soy soya', members: 'tofu soy edamame tempeh miso' },
  { words: 'sesame', members: 'tahini sesame hummus halva' },
  {
    words: 'meat vegetarian vegan halal kosher',
    members: 'meat beef pork steak ham bacon lamb chicken turkey sausage burger',
  },
  { words: 'alcohol', members: 'wine beer whisky whiskey vodka rum cocktail' },
  { words: 'antibiotic medicine', members: 'penicillin amoxicillin antibiotic' },
  { words: 'medicine painkiller', members: 'aspirin ibuprofen paracetamol' },
  { words: 'diet vegetarian vegan', members: 'avoid ingredient diet' },
]
const limits = ['allergic', 'allergy', 'intolerant', 'intolerance']

const wordsOf = new Map<string, Set<string>>()
for (const { words, members } of groups) {
  for (const member of members.split(' ')) {
    const known = wordsOf.get(member) ?? new Set(limits)
    for (const word of words.split(' ')) known.add(word)
    wordsOf.set(member, known)
  }
}

/** Further words that a question with these lower-case words has to look for. */
export function relatedWords(words: readonly string[]): string[] {
  const related = new Set(words.flatMap((word) => [...(wordsOf.get(word) ?? wordsOf.get(singular(word)) ?? [])]))
  return [...related].filter((word) => !words.includes(word))
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.endsWith('s') ? word.slice(0, -1) : word
}
