// The only instantiation of the divide-and-conquer SVD.
#include "information/distributions/singular_values.hpp"

template class Eigen::BDCSVD<Eigen::MatrixXd>;
