// Sentences with formulas in ASCII: the formulas are rendered as MathML, which browsers draw without any library:
//   "at most sqrt(2 I(W;S) / N)"      "f = exp: S = e^{-gamma^2/2} for n -> inf"      "dL/dq = (E_P[k] - k_+) / tau"
// A formula is the longest stretch, starting at a word, that parses as one; everything else stays text. The grammar
// knows how things look, not what they mean: an expression is terms between operators, a term is adjacent factors.
"use strict";

const formulas = (() => {
  const GREEK = { alpha: "α", beta: "β", gamma: "γ", delta: "δ", eps: "ε", epsilon: "ε", theta: "θ", kappa: "κ", lambda: "λ",
    mu: "μ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ", psi: "ψ", Gamma: "Γ", Phi: "Φ" };
  const FUNCTIONS = new Set("log log2 exp max min sup tanh sinh erf cos sign diag diam range softmax mean Var Cov KL kl Lip ceil rms".split(" "));
  const SIGNS = { "<=": "≤", ">=": "≥", "!=": "≠", "<<": "≪", ">>": "≫", "->": "→", "<-": "←", "+-": "±", "||": "∥", "-": "−", "~": "∼" };
  const sign = (text) => SIGNS[text] || text;
  // Section numbers, ids of claims, paths, abbreviations and code look like formulas but are not.
  const PROSE = /\d{3}-[\w.]+|\d+(?:\.\d+){2,}\w*|(?:[A-Za-z]\.){2,}|`[^`]*`|[\w/]+\.hpp|\w+::\w+|C\+\+/y;

  const leaf = (tag, text) => ({ tag, text });
  const row = (kids, kind) => (kids.length === 1 ? kids[0] : { tag: "mrow", kids, kind });
  const gap = { tag: "mspace", width: "0.17em" };
  const slash_sign = { tag: "mo", text: "/", lspace: "0", rspace: "0" };
  // Only fractions need tall brackets.
  const is_tall = (tree) => tree.tag === "mfrac" || (tree.kids || []).some(is_tall);
  const fence = (text, form, inside) => ({ tag: "mo", text, form, stretchy: String(inside.some(is_tall)) });
  const letters = (text) => row(Array.from(text, (c) => leaf("mi", c)));
  const bare = (tree) => (tree.kind === "group" && tree.kids[0].text === "(" ? row(tree.kids.slice(1, -1)) : tree);
  // "rW" is a product, "ij" a pair of indices, "out" a word.
  const name_of = (word) => (/^[A-Za-z]{1,2}$/.test(word) && !/^(?:in|of|to)$/.test(word) ? letters(word) : leaf("mtext", word));

  // Each function below returns a tree and advances, or returns null and does not move. `place`: words: words may occur here
  // (arguments of functions, subscripts); script: in an exponent; closer: the sign that ends this part.
  class Reader {
    constructor(text) { this.text = text; this.at = 0; }

    take(pattern) {
      pattern.lastIndex = this.at;
      const found = pattern.exec(this.text);
      if (found) this.at = pattern.lastIndex;
      return found && found[0];
    }
    sees(pattern) { pattern.lastIndex = this.at; return pattern.test(this.text); }
    try_(read) {
      const start = this.at, tree = read();
      if (!tree) this.at = start;
      return tree;
    }

    // [operator or null, term] of a whole expression, so that lines can break between them.
    segments(place) {
      const first = this.try_(() => {
        const minus = this.take(/\+-|[-+](?=[^\s\d])|-(?=\d)/y);
        const term = this.product({ ...place, operand: place.operand || Boolean(minus) });
        return term && (minus ? row([leaf("mo", sign(minus)), term]) : term);
      });
      if (!first) return null;
      const out = [[null, first]];
      for (;;) {
        const next = this.try_(() => {
          const op = this.take(/\s*(?:<=|>=|!=|<<|>>|<-|->|=|<|>)\s*| [-+~] | \+- |[-+]/y);
          if (!op || (place.closer && op.includes(place.closer))) return null;
          const minus = this.take(/\+-|-/y);
          const term = this.product({ ...place, operand: true });
          return term && [sign(op.trim()), minus ? row([leaf("mo", sign(minus)), term]) : term];
        });
        if (!next) return out;
        out.push(next);
      }
    }
    expression(place) {
      const found = this.segments(place);
      return found && row(found.flatMap(([op, term]) => (op ? [{ tag: "mo", text: op, form: "infix" }, term] : [term])));
    }

    // "a b", "a.b", "a/b". A slash between spaces divides everything before it, one without spaces only its neighbours.
    product(place) {
      const first = this.factor(place);
      if (!first) return null;
      const factors = [first], next = { ...place, operand: false, implied: true };
      for (;;) {
        const more = this.try_(() => {
          const slash = this.take(/ \/ |\//y);
          if (slash) return this.quotient(factors, slash, place);
          if (this.take(/\.(?=[A-Za-z(])/y)) {
            const right = this.factor({ ...next, implied: false });
            return right && factors.push(leaf("mo", "⋅"), right);
          }
          if (!this.take(/ /y)) return null;
          const right = this.factor(next);
          return right && factors.push(gap, right);
        });
        if (!more) return row(factors);
      }
    }
    quotient(factors, slash, place) {
      const last = factors[factors.length - 1];
      let below = this.factor({ ...place, operand: true, words: place.words || last.tag === "mn" });
      if (!below) return null;
      const differential = slash !== "/" && below.text === "d" && factors[0].text === "d";
      if (below.kind === "sum" || differential) below = row([below, this.try_(() => this.take(/ /y) && this.product(place))].filter(Boolean));
      const counted = factors.length > 2 && factors[factors.length - 3].tag === "mn";
      const above = row(slash === "/" ? factors.splice(counted ? -3 : -1) : factors.splice(0));
      const stacked = !place.script && [last, above, below].some((part) => part.kind || (slash !== "/" && part.kids && part.kids.length > 2));
      factors.push(stacked ? { tag: "mfrac", kids: [bare(above), bare(below)] } : row([above, slash_sign, below]));
      return true;
    }

    // Parts without spaces in between: 2d, h(h-1), q'Cq.
    factor(place) {
      const first = this.power(place);
      if (!first || first.kind === "sum") return first;
      const parts = [first];
      while (this.sees(/[A-Za-z([]|(?<=E)\|/y)) {
        const next = this.power({ ...place, operand: true, words: place.words || /[HIP']/.test(this.text[this.at - 1]), applied: true });
        if (!next) break;
        parts.push(next);
      }
      return row(parts);
    }
    power(place) {
      let base = this.atom(place), below = null, above = [];
      if (!base) return null;
      for (;;) {
        if (!below && this.sees(/_(?=[\w{<+-])/y) && (below = this.script(/_/y, place))) continue;
        if (this.sees(/\^/y)) {
          const found = this.script(/\^/y, place);
          if (found) { above.push(found); continue; }
        }
        const mark = this.take(/'+(?![a-z] )|\*(?![\w(])|~(?=[\s\]),])|!+|²/y);
        if (!mark) break;
        if (mark === "~") base = { tag: "mover", kids: [base, leaf("mo", "~")] };
        else if (mark[0] === "!") base = row([base, leaf("mo", mark)]);
        else if (mark === "²") above.push(leaf("mn", "2"));
        else above.push(leaf("mo", mark === "*" ? "*" : "′".repeat(mark.length)));
      }
      if (below && below.text === "hat") [base, below] = [{ tag: "mover", kids: [base, leaf("mo", "^")] }, null];
      if (!below && !above.length) return base;
      const tag = below ? (above.length ? "msubsup" : "msub") : "msup";
      return { tag, kids: [base, below, above.length ? row(above) : null].filter(Boolean), kind: base.kind && "raised" };
    }
    script(mark, place) {
      return this.try_(() => {
        this.take(mark);
        const inside = { words: true, script: true, operand: true };
        if (this.take(/\{/y)) { const tree = this.list(inside, /\}/y); return tree && row(tree); }
        const before = this.take(/<|\+(?!\w)|-/y), plain = this.try_(() => {
          const word = this.take(/[A-Za-z]+|\d+\/\d+|\d+/y);
          // In x^2/2 the exponent is 2; in n^-1/2 it is -1/2.
          if (word && word.includes("/") && !before) { this.at -= word.length - word.indexOf("/"); return leaf("mn", word.split("/")[0]); }
          if (!word) return null;
          if (/\d/.test(word)) return leaf("mn", word);
          if (GREEK[word] || word === "inf") return leaf("mi", GREEK[word] || "∞");
          return name_of(word);
        }) || (this.sees(/\(/y) && this.power(inside));
        if (!before) return plain && bare(plain);
        return row([leaf("mo", sign(before)), ...(plain ? [plain] : [])]);
      });
    }

    atom(place) {
      return this.try_(() => {
        if (this.sees(PROSE)) return null;
        if (this.sees(/[.\d]/y)) return this.number();
        if (this.take(/√/y)) return this.root(place);
        if (this.sees(/[α-ωΑ-Ω]/y)) return leaf("mi", this.take(/./y));
        if (this.sees(/[([]/y)) return this.group({ ...place, words: place.words && place.applied });
        if (this.sees(/\|(?!\|)/y)) return place.closer === "|" ? null : this.between("|", "|", place);
        if (this.sees(place.operand ? /<(?=\w)/y : /<(?=\w+, )/y)) return this.between("<", ">", place);
        const word = this.take(/[A-Za-z]+\d*/y);
        return word && this.word(word, place);
      });
    }
    number() {
      const text = this.take(/\d+(?:\.\d+)?(?:e-?\d+)?(?![A-Za-z]{2})|\.\d+/y);
      return text && leaf("mn", text);
    }
    // "(x, y)", "[i=j]", "(y|z)": brackets with a list inside.
    group(place) {
      const open = this.take(/[([]/y), kids = this.list({ words: place.words, script: place.script, operand: true }, /[)\]]/y);
      if (!kids) return null;
      return { tag: "mrow", kids: [fence(open, "prefix", kids), ...kids, fence(this.text[this.at - 1], "postfix", kids)], kind: "group" };
    }
    list(place, end) {
      const kids = [];
      for (;;) {
        const item = this.take(/\.\.\./y) ? leaf("mo", "…") : this.expression(place);
        if (!item) return null;
        kids.push(item);
        if (this.take(end)) return kids;
        const mark = this.take(/\s*(?:[,;:]|\|\|?)\s*/y);
        if (!mark) return null;
        kids.push(mark.includes("|") ? { tag: "mo", text: sign(mark.trim()), form: "infix" } : leaf("mo", mark.trim()));
      }
    }
    between(open, close, place) {
      this.at += 1;
      const first = this.expression({ ...place, closer: close, operand: true });
      const rest = first && close === ">" && this.take(/, /y) ? this.expression({ ...place, closer: close, operand: true }) : null;
      if (!first || this.text[this.at] !== close) return null;
      this.at += 1;
      const [left, right] = close === ">" ? ["⟨", "⟩"] : ["|", "|"], kids = rest ? [first, leaf("mo", ","), rest] : [first];
      return { tag: "mrow", kids: [fence(left, "prefix", kids), ...kids, fence(right, "postfix", kids)] };
    }

    word(word, place) {
      if (GREEK[word]) return leaf("mi", GREEK[word]);
      if (word === "sqrt") return this.root(place);
      if (word === "sum" || word === "int") return this.sum(word === "sum" ? "∑" : "∫", place);
      if (word === "inf" || word === "infinity") return place.operand ? leaf("mi", "∞") : null;
      const slashed = this.sees(/(?:_\w+)?\//y) || /\/$/.test(this.text.slice(0, this.at - word.length));
      if (slashed && word[0] === "d" && (word.length === 2 || word === "dlog" || GREEK[word.slice(1)])) {
        this.at -= word.length - 1;
        const variable = this.power({ ...place, operand: true });
        return variable && row([leaf("mi", "d"), variable]);
      }
      if (FUNCTIONS.has(word)) return this.applied(word, place);
      if (word.length === 1) return this.means_itself(word, place) ? null : leaf("mi", word);
      if (/^E[A-Z]$/.test(word)) return letters(word);
      if (this.sees(/\^/y) || this.is_acronym(word, place)) return leaf("mi", word);
      if (/^[A-KM-Z]\d$/.test(word)) return { tag: "msub", kids: [leaf("mi", word[0]), leaf("mn", word[1])] };
      if (this.sees(/\(/y) && !place.words) {
        const args = this.group({});
        return args && row([leaf("mi", word), args], "call");
      }
      if (!place.words) return null;
      return name_of(word);
    }
    // "PMI + c(y)", "H(X) - CE": a quantity next to an operator.
    is_acronym(word, place) { return /^[A-Z]{2,4}$/.test(word) && (place.operand || this.sees(/ [-+=] /y)); }
    // "a key", "A layer", "I find": a word, unless an operator or a bracket indicates otherwise.
    means_itself(word, place) {
      if (!/[aAI]/.test(word) || place.operand || place.words) return false;
      return !this.sees(place.implied ? /[_^(']| ?[)\]=/|]| [-+<>=] |$/y : /[_^'(/]| ?[=<>]| [-+/] | \(/y);
    }
    root(place) {
      this.take(/ /y);
      const under = this.power({ ...place, words: true, applied: true, operand: true });
      return under && { tag: "msqrt", kids: [bare(under)] };
    }
    sum(symbol, place) {
      const below = this.sees(/_/y) && this.script(/_/y, place);
      const first = this.take(/ /y) && this.factor({ ...place, operand: true });
      if (!first) return null;
      const mark = { tag: "mo", text: symbol, form: "prefix" };
      return row([below ? { tag: "msub", kids: [mark, below] } : mark, first], "sum");
    }
    applied(word, place) {
      const [, name, digits] = /^([A-Za-z]+)(\d*)$/.exec(word);
      let head = leaf("mi", name);
      if (digits) head = { tag: "msub", kids: [head, leaf("mn", digits)] };
      const below = this.sees(/_/y) && this.script(/_/y, place);
      if (below) head = { tag: "msub", kids: [head, below] };
      if (this.sees(place.closer === "|" ? /\(/y : /[(|]/y)) {
        const args = this.power({ ...place, words: true, applied: true });
        return args && row([head, args], "call");
      }
      const arg = this.try_(() => this.take(/ /y) && this.power({ ...place, operand: word !== "mean", implied: true }));
      if (arg) return row([head, gap, arg], "call");
      return below || place.words || this.sees(/\^/y) || this.is_acronym(word, place) ? head : null;
    }
  }

  const is_plain = (tree) => tree.tag === "mn" || tree.tag === "mtext" || (tree.tag === "mo" && "/()−,".includes(tree.text)) ||
    (["mrow", "mfrac"].includes(tree.tag) && tree.kids.every(is_plain));

  // In order: strings, { code } and [operator or null, term, whether it continues the previous formula].
  function pieces(text, flat) {
    const out = [], reader = new Reader(text);
    const say = (words) => (typeof out[out.length - 1] === "string" ? (out[out.length - 1] += words) : out.push(words));
    while (reader.at < text.length) {
      const start = reader.at, prose = reader.take(PROSE);
      if (prose) { prose[0] === "`" ? out.push({ code: prose.slice(1, -1) }) : say(prose); continue; }
      // Never starts inside a word: the k of top-k is not minus k.
      const found = /[\w'-]$/.test(text.slice(0, start)) ? null : reader.segments({ script: flat });
      const whole = found && !/^\w/.test(text.slice(reader.at)) && !found.every(([, term]) => is_plain(term));
      if (whole) { out.push(...found.map((segment, i) => [...segment, i > 0])); continue; }
      reader.at = start;
      say(reader.take(/\w+|<=|>=|->|<-|<<|\+-|!=| - |[^\w]/y).replace(/^(?:<=|>=|->|<-|<<|\+-|!=)$/, sign).replace(" - ", " − "));
    }
    return out;
  }

  function element(tree, namespace) {
    const out = document.createElementNS(namespace, tree.tag);
    for (const name of ["form", "lspace", "rspace", "stretchy", "width"]) if (tree[name]) out.setAttribute(name, tree[name]);
    if (tree.text !== undefined) out.textContent = tree.text;
    for (const kid of tree.kids || []) out.append(element(kid, namespace));
    return out;
  }

  // Puts the sentence into `place`, a D3 selection of one element; lines can break before every operator. Flat: fractions
  // are written with a slash, for small print.
  function set(place, text, flat = false) {
    const sample = document.createElement("template"), target = place.node();
    sample.innerHTML = "<math></math>";
    const namespace = sample.content.firstChild.namespaceURI;
    for (const piece of pieces(text, flat)) {
      if (typeof piece === "string") { target.append(piece); continue; }
      if (piece.code) { place.append("code").text(piece.code); continue; }
      const [op, term, follows] = piece;
      if (follows) target.append(" ");
      const operator = op ? [{ tag: "mo", text: op, form: "infix", lspace: "0" }] : [];
      target.append(element({ tag: "math", kids: [...operator, term] }, namespace));
    }
    return place;
  }

  // For places that allow only plain text, such as an axis.
  const plain = (text) => text.replace(/sqrt /g, "√").replace(/[A-Za-z]+/g, (word) => GREEK[word] || word).replace(/<=|>=|->|\+-/g, sign);

  return { set, plain };
})();
