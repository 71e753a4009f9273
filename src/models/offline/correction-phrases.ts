// How people ask for a change to what is remembered. The tools read consent by the same words.

export const forgetOrders = ['forget about', 'forget', '/forget', 'delete', 'erase', 'remove', 'get rid of']

/** Said of the kind of thing that is to be forgotten, not of the thing. */
export const genericWords: ReadonlySet<string> = new Set(
  'note notes memory memories fact facts entry entries thing noted saved stored remembered wrote said mentioned'.split(
    ' ',
  ),
)

export const wrongs = [
  ...["that's", 'that is', "it's", 'it is', 'this is'].flatMap((that) =>
    ['wrong', 'not right', 'not true', 'not correct', 'incorrect', 'false'].map((word) => `${that} ${word}`),
  ),
  ...["that isn't right", "that isn't true", "that isn't correct", 'wrong', 'not true', 'correction'],
]

/** Commas left out. */
export const agreements = [
  ...['yes', 'yes please', 'yes do', 'yes do it', 'yes do that', 'yes forget it', 'yes change it', 'yes go ahead'],
  ...['yeah', 'yep', 'sure', 'ok', 'okay', 'please do', 'do it', 'go ahead'],
  ...['ja', 'oui', 'si', 'sí', 'sim', 'tak', 'да'],
]
