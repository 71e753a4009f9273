/**
 * Forms that no rule of endings brings together, each group under its first word. A question about what was bought must
 * meet the sentence that says "buy".
 */
const groups = `become:became begin:began,begun bite:bit,bitten blow:blew,blown break:broke,broken bring:brought
  build:built burn:burnt buy:bought catch:caught choose:chose,chosen come:came deal:dealt dig:dug draw:drew,drawn
  dream:dreamt drink:drank,drunk drive:drove,driven eat:ate,eaten fall:fell,fallen feed:fed feel:felt fight:fought
  find:found fly:flew,flown forget:forgot,forgotten forgive:forgave,forgiven freeze:froze,frozen get:got,gotten
  give:gave,given go:went,gone grow:grew,grown hang:hung hear:heard hide:hid,hidden hold:held keep:kept know:knew,known
  lead:led learn:learnt leave:left lend:lent light:lit lose:lost make:made mean:meant meet:met pay:paid ride:rode,ridden
  ring:rang,rung rise:rose,risen run:ran say:said see:saw,seen sell:sold send:sent shake:shook,shaken shoot:shot
  show:shown sing:sang,sung sink:sank,sunk sit:sat sleep:slept speak:spoke,spoken spend:spent spin:spun stand:stood
  steal:stole,stolen stick:stuck strike:struck swear:swore,sworn sweep:swept swim:swam,swum swing:swung take:took,taken
  teach:taught tear:tore,torn tell:told think:thought throw:threw,thrown understand:understood wake:woke,woken
  wear:wore,worn win:won write:wrote,written kid:child,children person:people man:men woman:women tooth:teeth foot:feet
  mouse:mice life:lives wife:wives knife:knives leaf:leaves shelf:shelves wolf:wolves half:halves
  mother:mom,mum,mommy,mummy father:dad,daddy grandmother:grandma,granny grandfather:grandpa`

const baseOf = new Map<string, string>()
const formsOf = new Map<string, string[]>()
for (const group of groups.split(/\s+/)) {
  const [base = '', forms = ''] = group.split(':')
  formsOf.set(base, [base, ...forms.split(',')])
  for (const form of forms.split(',')) baseOf.set(form, base)
}

/** The word that stands for all forms of a lower-case word: "go" for "went". */
export function baseForm(word: string): string {
  return baseOf.get(word) ?? word
}

/** The irregular forms that a search for the word has to look for as well, the word itself not among them. */
export function irregularForms(word: string): string[] {
  return (formsOf.get(baseForm(word)) ?? []).filter((form) => form !== word)
}
